"""Settings of the server's addresses, logs, limits of messages, and access; see `Settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ByteSize, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from onnxplain_server.config.setting_names import PREFIX
from onnxplain_server.config.setting_types import (
    Algorithms,
    Callers,
    Hosts,
    MessageSize,
    Origins,
    Port,
    SafeUrl,
    Text,
)


class AccessSettings(BaseSettings):
    """The first of the settings; `Settings` has the others."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    config_file: Path | None = Field(
        None,
        description="TOML file of settings; keys are these names in lower case, such as rest_port"
        " = 8080. Variables and flags override it.",
    )
    host: str = Field("127.0.0.1", description="Host name or address to listen on.", min_length=1)
    rest_host: Text | None = Field(
        None,
        description="Host name or address for REST, if different; for example 127.0.0.1 behind a "
        "sidecar proxy.",
    )
    rest_port: Port = Field(8080, description="Port for REST; 0 picks a free one.")
    grpc_port: Port = Field(8081, description="Port for gRPC; 0 picks a free one.")
    allowed_hosts: Hosts | None = Field(
        None,
        description="Host names that requests to REST and metrics may be addressed to, separated"
        " by commas; .example.com includes names below it, * is any. localhost and IP addresses"
        " always pass. By default, no other name passes on a loopback address, and any name"
        " elsewhere.",
    )
    allowed_origins: Origins | None = Field(
        None,
        description="Origins of web pages that may use REST (CORS), such as"
        " https://app.example.com, separated by commas. By default, only pages of the server's own"
        " origin.",
    )
    page: bool = Field(True, description="Whether REST serves the page for people at its root, /.")
    metrics_port: Port = Field(
        8082, description="Port for Prometheus metrics at /metrics; 0 picks a free one."
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="Log format: text, or one JSON object per line."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest severity to log; debug includes health probes."
    )
    audit_log: Text = Field(
        "off",
        description="Where one line of JSON per explanation goes: off, stdout, or the path of a"
        " file, which is appended to and may be rotated.",
    )
    metrics_callers: Callers | None = Field(
        None,
        description="Callers that metrics of usage show by name, such as token:team-a,token:team-b;"
        " all others count as other. By default, no metric names a caller.",
    )
    quota_predicted_rows: float | None = Field(
        None,
        description="Rows that each caller may have predicted per hour, on all servers of one"
        " Redis. By default, no limit.",
        ge=1,
        le=1e15,
    )
    quota_processor_seconds: float | None = Field(
        None,
        description="Processor seconds of workers that each caller may use per hour, on all servers"
        " of one Redis. By default, no limit.",
        gt=0,
        le=1e9,
    )
    max_message_bytes: MessageSize = Field(
        ByteSize(64 * 2**20),
        description="Largest gRPC message received, and REST body; uploads may be larger.",
    )
    max_response_bytes: MessageSize = Field(
        ByteSize(64 * 2**20), description="Largest response, over gRPC and over REST."
    )
    unread_memory_bytes: ByteSize = Field(
        ByteSize(256 * 2**20),
        description="Memory of gRPC replies that wait for their readers, each of which takes twice "
        "its size; one caller may have half of it.",
        ge=2**20,
    )
    unread_disk_bytes: ByteSize = Field(
        ByteSize(2**30),
        description="Largest sum of REST replies that wait for their readers, and of bodies that "
        "are coming or wait for their work, in temporary files; one caller may have half of it.",
        ge=2**20,
    )
    max_model_bytes: ByteSize = Field(
        ByteSize(128 * 2**20), description="Largest model, in a request or uploaded.", ge=1
    )
    max_table_bytes: ByteSize = Field(
        ByteSize(128 * 2**20), description="Largest table as sent, in a request or uploaded.", ge=1
    )
    max_seconds: float = Field(
        600.0,
        description="Longest time for a request; callers may set shorter deadlines.",
        gt=0,
        le=86_400,
    )
    tokens_file: Path | None = Field(
        None,
        description="File of callers and token digests, from `onnxplain token`. With this, OIDC "
        "or tls_client_ca_file, callers must authenticate.",
    )
    oidc_issuer: Text | None = Field(
        None, description="Issuer of callers' JWTs, as in their claim iss."
    )
    oidc_audience: Text | None = Field(
        None, description="Required audience (claim aud) of JWTs: the name of this service."
    )
    oidc_algorithms: Algorithms = Field(
        "RS256,ES256", description="Accepted signature algorithms of JWTs; asymmetric only."
    )
    oidc_token_type: Literal["any", "at+jwt"] = Field(
        "any",
        description="Type (typ) of access tokens: at+jwt refuses all JWTs of another type, or of "
        "none (RFC 9068); any takes those of JWT and of none as well.",
    )
    oidc_jwks_url: SafeUrl | None = Field(
        None,
        description="Address of the issuer's keys; by default, from /.well-known/openid-"
        "configuration.",
    )
    oidc_caller_claim: Text = Field("sub", description="Claim that names the caller.")
    oidc_client_id: Text | None = Field(
        None,
        description="Client that the page is at the issuer, a public one with PKCE: the page then"
        " offers a login. Needs oidc_issuer.",
    )
    oidc_scopes: Text = Field(
        "openid", description="Scopes that a login of the page asks for, separated by spaces."
    )
    tls_certificate_file: Path | None = Field(
        None, description="Certificate chain for gRPC in PEM, the server's first; turns TLS on."
    )
    tls_key_file: Path | None = Field(None, description="Private key of the certificate, in PEM.")
    tls_client_ca_file: Path | None = Field(
        None,
        description="CA certificates in PEM; gRPC clients then need a certificate of this CA, "
        "which names the caller.",
    )
