"""`orchestrator dev`: a whole installation on this machine, left running."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import demo_commands, sandbox_commands
from orchestrator.cli.clean_errors import tell_error
from orchestrator.cli.document_options import choose, tell_skipped, tell_unmarked
from orchestrator.cli.options import Model, Overlays, Planner, Specs, planning_variables
from orchestrator.cli.output import console, progress, run
from orchestrator.core.payload_errors import KEYS_VARIABLE
from orchestrator.settings import Settings, bundled_specs, load_settings

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from orchestrator.sandbox.app import DocumentMemory

app = typer.Typer(add_completion=False)


@app.command()
def dev(
    temporal_port: Annotated[int, typer.Option(help="Port of the Temporal server.")] = 7233,
    ui_port: Annotated[int, typer.Option(help="Port of the Temporal Web UI.")] = 8233,
    sandbox_port: Annotated[int, typer.Option(help="Port of the sandbox.")] = 8700,
    codec_port: Annotated[
        int, typer.Option(help="Port of the codec server, which there is with payload keys.")
    ] = 8081,
    folder: Annotated[
        Path | None, typer.Option(help="Where state is kept; default: the state directory.")
    ] = None,
    specs: Specs = None,
    overlays: Overlays = None,
    planner: Planner = None,
    model: Model = None,
) -> None:
    """Temporal with its UI, the sandbox and a worker, until Ctrl-C.

    With payload keys (ORCHESTRATOR_PAYLOAD_KEYS_FILE) also the codec server, for the UI.

    It shows what they print, says at once when one has ended and why, and starts it again.

    Whatever servers the documents name, the sandbox stands in for them: no tool is called anywhere
    else, neither by this worker nor by what a shell starts that has read env.sh.

    Example: orchestrator dev, then in another terminal: orchestrator mission start "..." --wait

    Example: orchestrator dev --specs crm.yaml --overlay crm-tools.yaml
    """
    variables = planning_variables(planner, model)
    listening = (temporal_port, ui_port, sandbox_port, codec_port)
    run(_dev(listening, folder, specs, overlays, variables))


async def _dev(
    listening: tuple[int, int, int, int],
    folder: Path | None,
    specs: list[Path] | None,
    overlays: list[Path] | None,
    variables: Mapping[str, str],
) -> None:
    from orchestrator.catalog.catalog import load_sources
    from orchestrator.client.payloads import payload_keys_of
    from orchestrator.runtime.devserver import Ports, Stack
    from orchestrator.runtime.folder_lock import held_alone
    from orchestrator.runtime.sandbox_credentials import sandbox_credentials
    from orchestrator.runtime.sandboxed_documents import (
        last_written,
        note_sources,
        sources_of,
        write_redirected,
    )
    from orchestrator.runtime.settings_table import unknown_variables

    settings = load_settings()
    ports = Ports(*listening)
    if not payload_keys_of(settings).ids:
        ports = replace(ports, codec=None)
    ports.check_free()
    state = folder or settings.state_dir
    for unknown in unknown_variables(os.environ):
        tell_error(f"warning: {unknown}")
    with held_alone(state):
        _tell("reading the documents")
        sources = sources_of(*choose(settings, specs, overlays), state)
        read = load_sources(*sources.specs, overlays=sources.overlays)
        kept = last_written(sources, read.unread, state)
        for name in kept:
            tell_error(f"warning: {name} is used as it was when it could be read last")
        documents = {**read.documents, **kept}
        tell_unmarked(documents, sources.specs)
        tell_skipped(documents)
        written = write_redirected(documents, state, port=ports.sandbox)
        sandbox_commands.draw_skipped(progress, written.memories)
        note_sources(sources, state)
        stack = Stack(
            state,
            (written.folder,),
            ports,
            credentials=sandbox_credentials(documents),
            variables={**variables, **_key_file(settings)},
            tell=_tell,
        )
        stop = asyncio.Event()
        for signum in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        await _serve(stack, stop, lambda: _tell_addresses(stack, sources.specs, written.memories))


async def _serve(stack: "Stack", stop: asyncio.Event, started: Callable[[], None]) -> None:
    """Start it and keep it running until Ctrl-C, which may come while it starts."""
    from orchestrator.runtime.supervision import Supervisor

    async def kept() -> None:
        await stack.__aenter__()
        started()
        await Supervisor(stack, _tell).run()

    keeping, stopped = asyncio.create_task(kept()), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([keeping, stopped], return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():
            await keeping  # raises what kept it from starting
    finally:
        for task in (keeping, stopped):
            task.cancel()
        await asyncio.wait([keeping, stopped])
        _tell("stopping")
        await stack.stop()


def _key_file(settings: Settings) -> dict[str, str]:
    """Where the payload keys are, for shells in other folders."""
    file = settings.payload_keys_file
    return {} if file is None else {f"{KEYS_VARIABLE}_FILE": str(file.absolute())}


def _tell(line: str) -> None:
    progress.print(line, soft_wrap=True)


def _tell_addresses(
    stack: "Stack", specs: tuple[Path, ...], memories: Sequence["DocumentMemory"]
) -> None:
    demo_commands.draw_addresses(console, stack, example=_example(specs))
    for memory in memories:
        at = f"{stack.sandbox_url}{memory.path}"
        console.print(f"{memory.document} is served at {at}", soft_wrap=True)


def _example(specs: tuple[Path, ...]) -> str:
    """A goal to try; of documents that did not come along, none is known."""
    if specs == (bundled_specs(),):
        return "What is the weather in Oslo tomorrow?"
    return "what is to be done, in plain words"
