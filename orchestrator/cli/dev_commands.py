"""`orchestrator dev`: a whole installation on this machine, left running."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import render_demo, render_sandbox
from orchestrator.cli.chosen_documents import choose
from orchestrator.cli.marked import tell_unmarked
from orchestrator.cli.opened_catalog import tell_skipped
from orchestrator.cli.options import Model, Overlays, Planner, Specs, planning_variables
from orchestrator.cli.output import console, progress, run
from orchestrator.settings import bundled_specs, load_settings

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

app = typer.Typer(add_completion=False)

_WORKER = "worker"
_LOOKS_EVERY_S = 1.0


@app.command()
def dev(
    temporal_port: Annotated[int, typer.Option(help="Port of the Temporal server.")] = 7233,
    ui_port: Annotated[int, typer.Option(help="Port of the Temporal Web UI.")] = 8233,
    sandbox_port: Annotated[int, typer.Option(help="Port of the sandbox.")] = 8700,
    folder: Annotated[
        Path | None, typer.Option(help="Where state is kept; default: the state directory.")
    ] = None,
    specs: Specs = None,
    overlays: Overlays = None,
    planner: Planner = None,
    model: Model = None,
) -> None:
    """Temporal with its UI, the sandbox and a worker, left running until Ctrl-C.

    Whatever servers the documents name, the sandbox stands in for them: no tool is called anywhere
    else, neither by this worker nor by what a shell starts that has read env.sh.

    Example: orchestrator dev, then in another terminal: orchestrator mission start "..." --wait

    Example: orchestrator dev --specs crm.yaml --overlay crm-tools.yaml
    """
    variables = planning_variables(planner, model)
    run(_dev((temporal_port, ui_port, sandbox_port), folder, specs, overlays, variables))


async def _dev(
    listening: tuple[int, int, int],
    folder: Path | None,
    specs: list[Path] | None,
    overlays: list[Path] | None,
    variables: Mapping[str, str],
) -> None:
    from orchestrator.catalog.catalog import load_documents
    from orchestrator.runtime.devserver import Ports, Stack
    from orchestrator.runtime.sandbox_credentials import sandbox_credentials
    from orchestrator.runtime.sandboxed_documents import (
        note_sources,
        sources_of,
        write_redirected,
    )

    ports = Ports(*listening)
    ports.check_free()
    settings = load_settings()
    state = folder or settings.state_dir
    sources = sources_of(*choose(settings, specs, overlays), state)
    documents = load_documents(*sources.specs, overlays=sources.overlays)
    tell_unmarked(documents, sources.specs)
    tell_skipped(documents)
    written = write_redirected(documents, state, port=ports.sandbox)
    render_sandbox.skipped(progress, written.memories)
    credentials = sandbox_credentials(documents)
    stack = Stack(state, (written.folder,), ports, credentials=credentials, variables=variables)
    note_sources(sources, state)
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    with progress.status("starting Temporal, the sandbox and a worker"):
        await stack.__aenter__()
    try:
        render_demo.addresses(console, stack, example=_example(sources.specs))
        for memory in written.memories:
            at = f"{stack.sandbox_url}{memory.path}"
            console.print(f"{memory.document} is served at {at}", soft_wrap=True)
        await _until_stopped(stop, stack)
    finally:
        await stack.stop()


async def _until_stopped(stop: asyncio.Event, stack: "Stack") -> None:
    """Wait for Ctrl-C, and say meanwhile which part is there no longer.

    It stays away: whoever tries out what survives has killed it, and starts another.
    """
    told: set[str] = set()
    while not stop.is_set():
        for name, how in stack.ended().items():
            if name not in told:
                told.add(name)
                progress.print(f"the {name} has stopped: {how}", soft_wrap=True)
                progress.print(f"  its log: {stack.log(name)}", soft_wrap=True)
                if name == _WORKER:
                    progress.print("missions wait until there is another: orchestrator worker")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _LOOKS_EVERY_S)


def _example(specs: tuple[Path, ...]) -> str:
    """A goal to try; of documents that did not come along, none is known."""
    if specs == (bundled_specs(),):
        return "What is the weather in Oslo tomorrow?"
    return "what is to be done, in plain words"
