"""Settings of the server: one field per setting, with type, range, default and description.

Each is also a flag of `onnxplain serve`; docs and the Helm chart's schema are generated from here.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from pydantic import ByteSize, Field, SecretStr

from onnxplain_server.config.cluster_settings import ClusterSettings
from onnxplain_server.config.setting_types import (
    ColumnNames,
    ModelName,
    RedisUrl,
    Text,
)
from onnxplain_server.core.model_limits import SURROGATE_SECONDS
from onnxplain_server.core.systems.processors import processor_count


def core_count(quota_file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the number of usable cores: the smaller of CPU affinity and the cgroup's quota."""
    quota = quota_file.read_text(encoding="utf-8") if quota_file.exists() else "max"
    share, _, period = quota.partition(" ")
    cores = math.inf if share.strip() == "max" else math.ceil(int(share) / int(period))
    return int(min(processor_count(), cores))


class Settings(ClusterSettings):
    """Settings of the server. Sizes are bytes, or texts like "64MiB"."""

    running_count: int = Field(2, description="Maximum number of running requests.", ge=1, le=1_000)
    extra_count: int = Field(
        2,
        description="Additional running requests, for callers with nothing running, so that they "
        "do not wait for the long requests of others, and for short requests while long ones run.",
        ge=0,
        le=1_000,
    )
    thread_count: int = Field(
        core_count(),
        description="Prediction threads, shared by all requests; by default one per core.",
        ge=1,
        le=1_000,
    )
    waiting_seconds: float = Field(
        30.0,
        description="Longest time in the queue, by an estimate from the time that earlier requests"
        " took: what would wait longer is refused at once. Short requests count short ones only.",
        gt=0,
        le=86_400,
    )
    waiting_bytes: ByteSize = Field(
        ByteSize(256 * 2**20),
        description="Memory for the messages of queued gRPC requests, and as much for messages and "
        "for uploads that are coming; further ones are refused.",
        ge=0,
    )
    waiting_count: int = Field(
        512,
        description="Maximum number of queued requests, each of which takes a thread; further ones"
        " are refused.",
        ge=0,
        le=1_000,
    )
    isolation: Literal["none", "available", "require"] = Field(
        "available",
        description="Whether to compute in worker processes without access to files, network and "
        "the memory of others: available uses the protections of this kernel, warns where some are "
        "missing, and refuses to start where nothing confines; require refuses to start without "
        "all of them; none computes in the server's own process, for trusted models only.",
    )
    worker_bytes: ByteSize = Field(
        ByteSize(2**30), description="Memory limit for the work on one request.", ge=2**26
    )
    memory_bytes: ByteSize | None = Field(
        None,
        description="Memory of a computation on a table, in a worker: Parquet and Arrow files, sent"
        " or of URIs, that would need more by the estimate of scaling.md are read in blocks. All"
        " that is not exact in blocks, also the black box, then rests on at most 65,536 rows, with"
        " the warning TABLE_STREAMED. At least 32 MiB, and what one task of a model's trees needs,"
        " which a refusal tells; by default half of worker_bytes.",
        ge=2**25,
    )
    warm_bytes: ByteSize = Field(
        ByteSize(2**30), description="Memory for idle workers with a loaded model.", ge=0
    )
    quarantine_seconds: float = Field(
        300.0,
        description="How long a model is refused after it crashed its worker twice.",
        gt=0,
        le=86_400,
    )
    max_load_seconds: float = Field(
        10.0, description="Longest time to load a model.", gt=0, le=86_400
    )
    max_planned_rows: float = Field(
        1e10, description="Most rows that a request may plan to predict.", ge=1
    )
    surrogate_seconds: float = Field(
        SURROGATE_SECONDS,
        description="Time of predictions, by the size of a model, beyond which interactions are "
        "estimated by the engine SURROGATE where a request names no engine; 0: never.",
        ge=0,
        le=86_400,
    )
    max_node_count: int = Field(
        2_000, description="Most nodes in a model; loading time grows with their square.", ge=1
    )
    max_output_count: int = Field(64, description="Most outputs of a model.", ge=1)
    max_graph_depth: int = Field(8, description="Deepest nesting of graphs in a model.", ge=1)
    max_tree_depth: int = Field(
        1_024,
        description="Most levels of a tree in a model; 10,000 crash the runtime.",
        ge=1,
        le=5_000,
    )
    cache_bytes: ByteSize = Field(
        ByteSize(256 * 2**20), description="Memory for cached numbers; 0 turns the cache off.", ge=0
    )
    upload_bytes: ByteSize = Field(
        ByteSize(256 * 2**20),
        description="Space for uploaded models and tables, and for models that were read by their"
        " URIs, in memory and in Redis each; 0 refuses uploads. Eviction is LRU.",
        ge=0,
    )
    upload_seconds: float = Field(
        3_600.0,
        description="How long uploaded models and tables, and fetched models, are kept.",
        ge=1,
        le=31_536_000,
    )
    sources_file: Path | None = Field(
        None,
        description="TOML file of the prefixes that models and tables are read from by their URIs,"
        " with endpoints and credentials: see sources.md. Without it, no URI is read.",
    )
    remote_models_file: Path | None = Field(
        None,
        description="TOML file of the prefixes of remote models that may be asked for predictions,"
        " with limits and credentials: see remote-models.md. Without it, none is asked.",
    )
    redis_url: RedisUrl | None = Field(
        None,
        description="Redis that shares cached numbers and uploads, such as redis://host:6379/0; "
        "needs cache_secret or cache_secret_file. If it contains a password, use the "
        "variable or a file. With TLS, rediss://host:6379/0, followed by ?ssl_ca_certs=FILE for a "
        "private authority and &ssl_certfile=FILE&ssl_keyfile=FILE for a certificate of its own.",
    )
    redis_url_file: Path | None = Field(None, description="File with the Redis address.")
    cache_secret: SecretStr | None = Field(
        None,
        description="Secret that signs the values in Redis, at least 16 bytes, the same for all "
        "servers that share it. Other users can see flags: use the variable or a "
        "file.",
    )
    cache_secret_file: Path | None = Field(None, description="File with the cache secret.")
    cache_seconds: float = Field(
        86_400.0, description="How long Redis keeps cached numbers.", ge=1, le=31_536_000
    )
    operations_bytes: ByteSize = Field(
        ByteSize(2**30),
        description="Space in Redis for requests and responses of operations; for more, the oldest"
        " responses of the caller with most bytes are forgotten.",
        ge=0,
    )
    operations_seconds: float = Field(
        86_400.0,
        description="How long operations are kept after their end, and how long they wait for a "
        "server.",
        ge=60,
        le=31_536_000,
    )
    operations_max_seconds: float = Field(
        86_400.0,
        description="Longest time for an attempt to compute an operation.",
        gt=0,
        le=31_536_000,
    )
    operations_kept_count: int = Field(
        1_000, description="Most operations that are kept for one caller.", ge=1, le=100_000
    )
    operations_running_count: int = Field(
        1_000,
        description="Most operations of one caller that run at the same time, on all servers.",
        ge=1,
        le=100_000,
    )
    operations_lease_seconds: float = Field(
        15.0,
        description="Silence of a server after which others take over its operations.",
        ge=1,
        le=3_600,
    )
    explainer_name: ModelName | None = Field(
        None,
        description="Name of the model that is explained under the routes of KServe and MLflow: see"
        " platforms/kserve.md. Needs explainer_background, and explainer_model or"
        " explainer_predictor_host. Without it, there are no such routes.",
    )
    explainer_model: Text | None = Field(
        None,
        description="ONNX file of that model: a path, or an address below a prefix of sources_file."
        " If set, the predictor is not asked.",
    )
    explainer_predictor_host: Text | None = Field(
        None,
        description="Host, with a port if it is not 80 or 443, that predicts for that model where"
        " explainer_model is not set; its address must be listed in remote_models_file.",
    )
    explainer_predictor_protocol: Literal["v1", "v2", "grpc-v2"] = Field(
        "v1",
        description="Protocol of the predictor, as KServe names it: v1, v2 (Open Inference Protocol"
        " over REST) or grpc-v2.",
    )
    explainer_predictor_use_ssl: bool = Field(
        False, description="Whether the predictor is asked over TLS."
    )
    explainer_background: Text | None = Field(
        None,
        description="Table that rows are explained against, some hundred rows: a path of a CSV,"
        " Parquet or Arrow file, or an address below a prefix of sources_file. It is read once, at"
        " the start.",
    )
    explainer_target_column: Text | None = Field(
        None, description="Column of the background with the true values."
    )
    explainer_weight_column: Text | None = Field(
        None, description="Column of the background with case weights."
    )
    explainer_feature_columns: ColumnNames | None = Field(
        None,
        description="Columns of the background that the model takes, in its order, separated by"
        " commas; by default, as in ExplainRequest.feature_columns.",
    )
    explainer_interaction_rows: int = Field(
        500,
        description="Rows of the background for the interactions that are computed at the start;"
        " 0 computes none. Work grows with their square.",
        ge=0,
        le=1_000_000,
    )
    grace_seconds: float = Field(
        25.0,
        description="Time for running requests at shutdown; the server ends at most 3 s later.",
        ge=0,
        le=86_400,
    )


def table_memory_bytes(settings: Settings) -> int:
    """Return the memory of a computation on a table, by default half of a worker's."""
    return settings.memory_bytes or settings.worker_bytes // 2
