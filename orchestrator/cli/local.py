"""Commands that run parts on this machine: demo, dev, worker, sandbox."""

import asyncio
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import sandbox as sandbox_server
from orchestrator.cli import render
from orchestrator.cli.output import AsJson, console, print_json, progress, run
from orchestrator.client import connect_temporal
from orchestrator.demo import Demo, DemoReport
from orchestrator.devserver import Ports, Stack
from orchestrator.errors import UsageError
from orchestrator.settings import bundled_specs, load_settings
from orchestrator.worker import run_worker

Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="An OpenAPI file or a folder of them; may be repeated."),
]


def demo(
    as_json: AsJson = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep server, ledger and logs in this folder.")
    ] = None,
) -> None:
    """Three missions on real parts: success, rollback, killed worker; exit 1 if one is not so.

    Example: orchestrator demo --json | jq .ok
    """
    report = run(_demo(keep))
    if as_json:
        print_json(report)
    else:
        render.demo(console, report)
    if not report.ok:
        raise typer.Exit(1)


async def _demo(keep: Path | None) -> DemoReport:
    with tempfile.TemporaryDirectory(prefix="orchestrator-demo-") as scratch:
        stack = Stack(keep or Path(scratch), (bundled_specs(),), Ports.free())
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        try:
            progress.print(f"Temporal UI while this runs: {stack.ui_url}")
            return await Demo(stack, progress.print).run()
        finally:
            await stack.stop()


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
    run(_dev(Ports(temporal_port, ui_port, sandbox_port), folder, specs))


async def _dev(ports: Ports, folder: Path | None, specs: list[Path] | None) -> None:
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
        render.addresses(console, stack)
        await stop.wait()
    finally:
        await stack.stop()


def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Made once the worker polls; for scripts that wait.")
    ] = None,
) -> None:
    """One worker: runs missions, legs, rollbacks and their tool calls until SIGTERM.

    Example: TEMPORAL_ADDRESS=temporal:7233 orchestrator worker
    """

    def ready() -> None:
        progress.print(f"worker polls the task queue {settings.task_queue!r}")
        if ready_file is not None:
            ready_file.touch()

    async def serve() -> None:
        await run_worker(await connect_temporal(), settings, ready=ready)

    settings = load_settings()
    run(serve())


def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8700,
    db: Annotated[
        Path | None, typer.Option(help="SQLite file of its ledger; default: in memory.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything it makes up.")] = 0,
    specs: Specs = None,
) -> None:
    """Serve OpenAPI documents as real HTTP services that remember everything they did.

    Example: orchestrator sandbox --port 8700 --specs specs/
    """

    def ready(running: sandbox_server.RunningSandbox) -> None:
        progress.print(f"sandbox answers at {running.base_url}")

    try:
        sandbox_server.run(
            specs or load_settings().specs,
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
