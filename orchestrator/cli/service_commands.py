"""`orchestrator worker`, `proxy` and `codec-server`: processes that serve until stopped."""

import gc
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.clean_errors import print_error
from orchestrator.cli.options import Model, Overlays, model_variables, new_app, read_policy
from orchestrator.cli.output import progress, run
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.settings import Settings

worker_app = new_app()
proxy_app = new_app()
codec_server_app = new_app()

_log = logging.getLogger(__name__)
_NEW_OBJECTS = 10_000
"""Threshold of the garbage collector of a worker: passes of a millisecond, for routing has no time
for longer ones."""
_PROXY_TOKEN = "ORCHESTRATOR_PROXY_TOKEN"
_DEV_UI = ("http://127.0.0.1:8233", "http://localhost:8233")


@worker_app.command()
def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Made once the worker polls; for scripts that wait.")
    ] = None,
    overlays: Overlays = None,
    model: Model = None,
) -> None:
    """Run missions and their tool calls until SIGTERM.

    --overlay and --model take the place of ORCHESTRATOR_OVERLAYS and ORCHESTRATOR_PLANNER_MODEL.

    Example: TEMPORAL_ADDRESS=temporal:7233 orchestrator worker --overlay crm-tools.yaml

    Example: OPENAI_API_KEY=... orchestrator worker --model openai:gpt-5
    """
    from orchestrator.runtime.worker_logs import log_lines
    from orchestrator.settings import load_settings

    def ready() -> None:
        gc.set_threshold(_NEW_OBJECTS)
        _log.info("worker polls the task queue %r", settings.task_queue)
        if ready_file is not None:
            ready_file.touch()

    async def serve() -> None:
        from orchestrator.runtime.process_telemetry import process_telemetry
        from orchestrator.runtime.worker import run_worker

        note_doubtful_settings(settings)
        has_health = settings.health is not None
        async with process_telemetry("orchestrator-worker", serves_metrics=has_health) as telemetry:
            await run_worker(
                settings=settings,
                ready=ready,
                connected=telemetry.watch,
                metrics=telemetry.metrics_text,
            )

    os.environ.update(model_variables(model))
    settings = load_settings()
    if overlays:
        settings = settings.model_copy(update={"overlays": tuple(overlays)})
    log_lines(settings.log_format, settings.log_level)
    run(serve(), is_service=True)


def note_doubtful_settings(settings: "Settings") -> None:
    """Warn of misspelt ORCHESTRATOR_ variables, and of standing approvals that never run out."""
    from orchestrator.runtime.settings_table import unknown_variables

    for unknown in unknown_variables(os.environ):
        print_error(f"warning: {unknown}")
    read_policy(settings.mission_policy)


@proxy_app.command()
def proxy(
    upstream: Annotated[
        str, typer.Option(help="Base URL of the model's provider, as its own clients take it.")
    ],
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = (
        "127.0.0.1:8800"
    ),
    mode: Annotated[
        str, typer.Option(help="prune, defer, sticky or shadow; x-orqen-mode overrides it.")
    ] = "prune",
    key_env: Annotated[
        str | None,
        typer.Option(
            help=f"Environment variable with the provider's key; callers then send {_PROXY_TOKEN}."
        ),
    ] = None,
    limit_ms: Annotated[
        int, typer.Option(help="Time for choosing tools, in ms; after it all tools go on.")
    ] = 50,
    timeout: Annotated[
        float, typer.Option(help="Seconds that the provider may stay silent.")
    ] = 600,
) -> None:
    """Forward requests to a model with the few tools that fit.

    Example: orchestrator proxy --upstream https://api.openai.com/v1
    """
    from orchestrator.client.stores import store_of
    from orchestrator.proxy.proxy_app import ExchangeRecorder, Proxy, Upstream
    from orchestrator.proxy.pruning_transport import make_pruner
    from orchestrator.proxy.server import read_address, serve
    from orchestrator.pruning.pruner import MODES, read_mode
    from orchestrator.routing.learning.trace import usage_of
    from orchestrator.runtime.vectors import embedder_of, similarity_of
    from orchestrator.settings import load_routing_profile, load_settings

    host, port = read_address(listen)
    if mode not in MODES:
        raise UsageError(f"no mode is called {mode!r}; name one of {', '.join(MODES)}")
    settings = load_settings()
    limit_s = limit_ms / 1000
    similarity = similarity_of(embedder_of(settings.embedder, settings), timeout_s=limit_s)
    profile = load_routing_profile(settings.routing_profile)
    key, token = "", ""
    if key_env is not None:
        key, token = os.environ.get(key_env, ""), os.environ.get(_PROXY_TOKEN, "")
        if not key:
            raise UsageError(f"{key_env} is not set; it holds the provider's key")
        if not token:
            raise UsageError(
                f"{_PROXY_TOKEN} is not set; callers present it, since the key is not theirs"
            )
    traces = store_of(settings).proxy_traces
    recorder = ExchangeRecorder(traces)
    passing = Proxy(
        upstream=Upstream.at(upstream, key=key),
        pruner=make_pruner(similarity, profile, limit_s),
        mode=read_mode(mode, "prune"),
        token=token,
        limit_s=limit_s,
        timeout_s=timeout,
        seen=recorder,
        usage=lambda: usage_of(traces.records()),
    )
    try:
        serve(passing, host, port, ready=lambda url: progress.print(f"proxy answers at {url}/v1"))
    except OSError as error:
        raise UsageError(f"cannot listen on {listen}: {error.strerror}") from error
    finally:
        recorder.close()


@codec_server_app.command()
def codec_server(
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = (
        "127.0.0.1:8081"
    ),
    ui: Annotated[
        list[str] | None,
        typer.Option(help="Origin of a Temporal Web UI that may ask. [default: that of dev]"),
    ] = None,
    jwks: Annotated[
        str | None,
        typer.Option(help="File or https URL of the keys that sign the UI's access tokens."),
    ] = None,
    audience: Annotated[str, typer.Option(help="The audience that access tokens must have.")] = "",
    issuer: Annotated[str, typer.Option(help="The issuer that access tokens must have.")] = "",
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file with its certificate: https, as browsers ask.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file with the certificate's key.")] = (
        None
    ),
) -> None:
    """Decrypt histories for the Temporal UI and the temporal command.

    Callers present ORCHESTRATOR_CODEC_TOKEN (or ..._FILE=path), or an access token.

    Example: orchestrator codec-server --ui https://temporal.example.com
    """
    from orchestrator.adapters.access_tokens import AccessTokens
    from orchestrator.adapters.temporal.payload_codec import EncryptionCodec
    from orchestrator.adapters.temporal.payload_keys import keys_invalid
    from orchestrator.client.payloads import payload_keys_of
    from orchestrator.codec_server.callers import Callers
    from orchestrator.codec_server.codec_app import create_codec_app
    from orchestrator.core.errors import KEYS_VARIABLE
    from orchestrator.proxy.server import read_address, serve_app
    from orchestrator.runtime.devserver import TOKEN_VARIABLE, read_codec_token
    from orchestrator.runtime.worker_logs import log_lines
    from orchestrator.settings import load_settings

    settings = load_settings()
    keys = payload_keys_of(settings)
    if not keys.ids:
        raise keys_invalid(KEYS_VARIABLE, "it holds no key, so there is nothing to open")
    host, port = read_address(listen)
    origins = tuple(origin.rstrip("/") for origin in ui or _DEV_UI)
    token = read_codec_token()
    if not token and jwks is None:
        raise UsageError(
            f"{TOKEN_VARIABLE} is not set, and nobody may read payloads unproved: set it to a long "
            "random text, or name the keys of access tokens by --jwks"
        )
    tokens = None if jwks is None else AccessTokens(jwks, audience=audience, issuer=issuer)
    serving = create_codec_app(
        EncryptionCodec(keys),
        Callers(token=token, access_tokens=tokens, origins=origins),
        origins=origins,
        is_tls=tls_cert is not None,
    )
    log_lines(settings.log_format, settings.log_level)
    try:
        serve_app(
            serving,
            host,
            port,
            ready=lambda url: progress.print(f"codec server answers at {url}/{{namespace}}"),
            certificate=tls_cert,
            private_key=tls_key,
        )
    except OSError as error:
        raise UsageError(f"cannot serve on {listen}: {error.strerror or error}") from error
