"""`orchestrator sandbox`: OpenAPI documents served as real services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.clean_errors import show_log
from orchestrator.cli.options import Overlays, Specs, choose, new_app, note_unmarked
from orchestrator.cli.output import AsJson, console, print_json, progress
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import number_of

if TYPE_CHECKING:  # help does without them
    from orchestrator.core.record import JsonObject
    from orchestrator.sandbox import RunningSandbox
    from orchestrator.sandbox.app import DocumentMemory

app = new_app()


@app.command()
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8700,
    db: Annotated[
        Path | None, typer.Option(help="SQLite file of its ledger; default: in memory.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Determines generated values.")] = 0,
    specs: Specs = None,
    overlays: Overlays = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print what would be served, and serve nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve OpenAPI documents as real HTTP services with a memory.

    Once it answers, it prints the address of each document, the kinds of things it remembers, and
    the operations that are not served and why.

    Each request is a line on standard error: the operation, and what was answered.

    Example: orchestrator sandbox --port 8700 --specs crm.yaml --overlay crm-tools.yaml

    Example: orchestrator sandbox --show --specs crm.yaml
    """
    from orchestrator import sandbox as sandbox_server
    from orchestrator.catalog.catalog import load_documents
    from orchestrator.settings import load_settings

    def ready(running: sandbox_server.RunningSandbox) -> None:
        if as_json:
            print_json(addresses_as_json(running.base_url, running.memories))
        draw_started(progress, running)
        show_log("orchestrator.sandbox")

    chosen = choose(load_settings(), specs, overlays)
    documents = load_documents(*chosen.specs, overlays=chosen.overlays)
    if chosen.overlays:
        note_unmarked(documents, chosen.specs)
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
        print_json(addresses_as_json(base_url, memories))
    else:
        draw_documents(console, base_url, memories)


_KINDS = 12
_SKIPPED = 5
_NAMES = 3


def addresses_as_json(base_url: str, memories: tuple[DocumentMemory, ...]) -> dict[str, Any]:
    """Return the addresses, and the kinds of things that each document remembers."""
    return {
        "url": base_url,
        "ledger": f"{base_url}/_sandbox/ledger",
        "documents": [{**memory.to_json(), "url": base_url + memory.path} for memory in memories],
    }


def draw_started(console: Console, running: RunningSandbox) -> None:
    """Draw the addresses and the documents, of large ones the beginning."""
    console.print(f"sandbox answers at {running.base_url}")
    console.print()
    draw_documents(console, running.base_url, running.memories)
    every = f"{running.base_url}/_sandbox/documents"
    console.print(f"all of it as JSON: {every}", soft_wrap=True)
    console.print("point a client at a document by its address above, in place of its own server;")
    console.print("any credential is taken (docs/testing.md)")


def draw_documents(console: Console, base_url: str, memories: tuple[DocumentMemory, ...]) -> None:
    """Draw the address of each document, and the kinds of things it remembers."""
    for memory in memories:
        console.print(f"{memory.document}: {base_url}{memory.path}", soft_wrap=True)
        _draw_document(console, memory)
        console.print()


def draw_skipped(console: Console, memories: tuple[DocumentMemory, ...]) -> None:
    """Draw the operations that are not served, each with place, reason and remedy."""
    for memory in memories:
        for operation in memory.skipped[:_SKIPPED]:
            console.print(f"skipped: {operation}", soft_wrap=True)
        more = len(memory.skipped) - _SKIPPED
        if more > 0:
            console.print(f"skipped: {memory.document}: {number_of(more, 'more operation')}")


def _draw_document(console: Console, memory: DocumentMemory) -> None:
    served, skips = number_of(memory.served, "operation"), len(memory.skipped)
    console.print(f"  served: {served}; not served: {skips or 'none'}")
    for kind in memory.kinds[:_KINDS]:
        verbs = "; ".join(f"{verb} {_names(named)}" for verb, named in kind.operations.items())
        console.print(f"  remembers {kind.thing}: {verbs}", soft_wrap=True)
    if len(memory.kinds) > _KINDS:
        more = number_of(len(memory.kinds) - _KINDS, "more kind")
        console.print(f"  remembers {more} of things")
    if memory.unremembered:
        names = _names(list(memory.unremembered))
        console.print(f"  answers, and remembers nothing of: {names}", soft_wrap=True)
    draw_skipped(console, (memory,))


def _names(operations: list[str]) -> str:
    more = len(operations) - _NAMES
    return ", ".join(operations[:_NAMES]) + (f" and {more} more" if more > 0 else "")
