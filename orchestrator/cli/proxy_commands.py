"""`orchestrator proxy`: the pruner in front of any model."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import listen_address
from orchestrator.cli.output import progress
from orchestrator.core.errors import UsageError
from orchestrator.settings import load_routing_profile, load_settings

if TYPE_CHECKING:
    from orchestrator.proxy.proxy_app import Proxy
    from orchestrator.proxy.recording import ExchangeRecorder

app = typer.Typer(add_completion=False)
TOKEN_VARIABLE = "ORCHESTRATOR_PROXY_TOKEN"


@app.command()
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
            help="Environment variable with the provider's key; callers then present "
            f"{TOKEN_VARIABLE}.",
        ),
    ] = None,
    limit_ms: Annotated[
        int, typer.Option(help="How long choosing tools may take; longer, and all go on.")
    ] = 50,
    timeout: Annotated[
        float, typer.Option(help="How long the provider may stay silent, in seconds.")
    ] = 600,
) -> None:
    """Pass requests to a model on with the few of their tools that fit.

    Example: orchestrator proxy --upstream https://api.openai.com/v1
    """
    from orchestrator.proxy.server import serve

    host, port = listen_address(listen)
    passing, recorder = _proxy(upstream, mode, key_env, limit_ms / 1000, timeout)
    try:
        serve(passing, host, port, ready=lambda url: progress.print(f"proxy answers at {url}/v1"))
    except OSError as error:
        raise UsageError(f"cannot listen on {listen}: {error.strerror}") from error
    finally:
        recorder.close()


def _proxy(
    upstream: str, mode: str, key_env: str | None, limit_s: float, timeout_s: float
) -> "tuple[Proxy, ExchangeRecorder]":
    """What is served, and what writes down what passes."""
    from orchestrator.client.stores import store_of
    from orchestrator.proxy.proxy_app import Proxy
    from orchestrator.proxy.pruners import make_pruner
    from orchestrator.proxy.recording import ExchangeRecorder
    from orchestrator.proxy.upstream import Upstream
    from orchestrator.pruning.pruner import MODES, read_mode
    from orchestrator.routing.learning.usage import usage_of
    from orchestrator.runtime.vectors import embedder_of, similarity_of

    if mode not in MODES:
        raise UsageError(f"no mode is called {mode!r}; name one of {', '.join(MODES)}")
    settings = load_settings()
    embedder = embedder_of(settings.embedder, settings)
    similarity = similarity_of(embedder, settings, timeout_s=limit_s)
    profile = load_routing_profile(settings.routing_profile)
    key, token = _credentials(key_env)
    traces = store_of(settings).proxy_traces
    recorder = ExchangeRecorder(traces)
    passing = Proxy(
        upstream=Upstream.at(upstream, key=key),
        pruner=make_pruner(similarity, profile, limit_s),
        mode=read_mode(mode, "prune"),
        token=token,
        limit_s=limit_s,
        timeout_s=timeout_s,
        seen=recorder,
        usage=lambda: usage_of(traces.records()),
    )
    return passing, recorder


def _credentials(key_env: str | None) -> tuple[str, str]:
    """The provider's key and the callers' token, both or neither."""
    if key_env is None:
        return "", ""
    key, token = os.environ.get(key_env, ""), os.environ.get(TOKEN_VARIABLE, "")
    if not key:
        raise UsageError(f"{key_env} is not set; it holds the provider's key")
    if not token:
        raise UsageError(
            f"{TOKEN_VARIABLE} is not set; callers present it, since the key is not theirs"
        )
    return key, token
