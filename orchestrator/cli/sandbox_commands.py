"""`orchestrator sandbox`: OpenAPI documents served as real services."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import render_sandbox
from orchestrator.cli.chosen_documents import choose
from orchestrator.cli.clean_errors import tell_log
from orchestrator.cli.marked import tell_unmarked
from orchestrator.cli.options import Overlays, Specs
from orchestrator.cli.output import AsJson, console, print_json, progress
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8700,
    db: Annotated[
        Path | None, typer.Option(help="SQLite file of its ledger; default: in memory.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything it makes up.")] = 0,
    specs: Specs = None,
    overlays: Overlays = None,
    show: Annotated[
        bool, typer.Option("--show", help="Say what would be served, and serve nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve OpenAPI documents as real HTTP services that remember everything they did.

    Once it answers, it says where each document is, what of it is remembered, and which operations
    are not served and why.

    Each request is a line on standard error: the operation, and what was answered.

    Example: orchestrator sandbox --port 8700 --specs crm.yaml --overlay crm-tools.yaml

    Example: orchestrator sandbox --show --specs crm.yaml
    """
    from orchestrator import sandbox as sandbox_server
    from orchestrator.catalog.catalog import load_documents

    def ready(running: sandbox_server.RunningSandbox) -> None:
        if as_json:
            print_json(render_sandbox.as_json(running.base_url, running.memories))
        render_sandbox.started(progress, running)
        tell_log("orchestrator.sandbox")

    chosen = choose(load_settings(), specs, overlays)
    documents = load_documents(*chosen.specs, overlays=chosen.overlays)
    if chosen.overlays:
        tell_unmarked(documents, chosen.specs)
    try:
        if show:
            return _show(documents, f"http://{host}:{port}", as_json=as_json)
        sandbox_server.run(
            chosen.specs,
            documents=documents,
            host=host,
            port=port,
            db=db or ":memory:",
            seed=seed,
            on_ready=ready,
        )
    except sandbox_server.DocumentError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def _show(documents: Mapping[str, JsonObject], base_url: str, *, as_json: bool) -> None:
    from orchestrator.sandbox import EffectLedger, create_app
    from orchestrator.sandbox.app import memories_of

    with EffectLedger() as ledger:
        memories = memories_of(create_app(documents, ledger=ledger))
    if as_json:
        print_json(render_sandbox.as_json(base_url, memories))
    else:
        render_sandbox.documents(console, base_url, memories)
