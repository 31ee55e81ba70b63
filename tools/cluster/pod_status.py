"""Status of a pod, as a kubelet reports it."""

from __future__ import annotations

from typing import Any

from tools.cluster.pod_process import PodProcess, Run


def status_of(process: PodProcess) -> dict[str, Any]:
    """Return the status of a pod by its process; equal ones are the same state."""
    run = process.run
    ends = run.exit_code is not None and not process.restarts
    phase = ("Failed" if run.exit_code else "Succeeded") if ends else "Running"
    ready = "True" if process.is_ready else "False"
    return {
        "phase": phase,
        "podIP": process.address,
        "podIPs": [{"ip": process.address}],
        "startTime": process.started,
        "conditions": [
            {"type": name, "status": ready, "lastTransitionTime": process.ready_changed}
            for name in ("Ready", "ContainersReady")
        ],
        "containerStatuses": [_container_status(process, run, ends=ends)],
    }


def _container_status(process: PodProcess, run: Run, *, ends: bool) -> dict[str, Any]:
    container = process.pod.spec.containers[0]
    state, last = _state(run), process.previous
    if run.exit_code is not None and not ends:
        state, last = {"waiting": {"reason": "CrashLoopBackOff"}}, run
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "ready": process.is_ready,
        "restartCount": run.number,
        "state": state,
        "lastState": _state(last) if last else {},
    }


def _state(run: Run) -> dict[str, Any]:
    if run.exit_code is None:
        return {"running": {"startedAt": run.started}}
    return {
        "terminated": {
            "exitCode": run.exit_code,
            "startedAt": run.started,
            "finishedAt": run.finished,
        }
    }
