"""Watchers of the health service come and go without holding up the server's event loop."""

import threading

from onnxplain_server.transport.grpc.health import HealthServicer


def test_a_watcher_that_leaves_while_a_status_is_sent_blocks_nobody() -> None:
    """The lock is held while a status is sent, which ends only by the thread that calls back."""
    servicer = HealthServicer()
    responses: list[object] = []
    send = responses.append
    left = servicer._on_close_callback(send, "")
    servicer._send_response_callbacks[""] = {send}

    with servicer._lock:
        event_loop = threading.Thread(target=left)
        event_loop.start()
        event_loop.join(60)
        returned = not event_loop.is_alive()
    servicer._closer.shutdown()

    assert returned
    assert servicer._send_response_callbacks[""] == set()


def test_a_watcher_that_leaves_after_the_end_is_ignored() -> None:
    servicer = HealthServicer()
    responses: list[object] = []
    left = servicer._on_close_callback(responses.append, "")
    servicer.close()

    left()
