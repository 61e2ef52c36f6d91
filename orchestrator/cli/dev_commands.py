"""`orchestrator dev`: a whole installation on this machine, left running."""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import render_demo
from orchestrator.cli.options import Specs
from orchestrator.cli.output import console, progress, run
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def dev(
    temporal_port: Annotated[int, typer.Option(help="Port of the Temporal server.")] = 7233,
    ui_port: Annotated[int, typer.Option(help="Port of the Temporal Web UI.")] = 8233,
    sandbox_port: Annotated[int, typer.Option(help="Port of the sandbox.")] = 8700,
    folder: Annotated[
        Path | None, typer.Option(help="Where state is kept; default: the state directory.")
    ] = None,
    specs: Specs = None,
) -> None:
    """Temporal with its UI, the sandbox and a worker, left running until Ctrl-C.

    Example: orchestrator dev, then in another terminal: orchestrator mission start "..." --wait
    """
    run(_dev((temporal_port, ui_port, sandbox_port), folder, specs))


async def _dev(
    listening: tuple[int, int, int], folder: Path | None, specs: list[Path] | None
) -> None:
    from orchestrator.runtime.devserver import Ports, Stack

    ports = Ports(*listening)
    ports.check_free()
    settings = load_settings()
    # Overlays of the settings are for the documents of the settings.
    overlays = () if specs else settings.overlays
    stack = Stack(
        folder or settings.state_dir, tuple(specs or settings.specs), ports, overlays=overlays
    )
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    with progress.status("starting Temporal, the sandbox and a worker"):
        await stack.__aenter__()
    try:
        render_demo.addresses(console, stack)
        await stop.wait()
    finally:
        await stack.stop()
