"""`orchestrator worker`: one worker process."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import Overlays
from orchestrator.cli.output import progress, run
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Made once the worker polls; for scripts that wait.")
    ] = None,
    overlays: Overlays = None,
) -> None:
    """One worker: runs missions, legs, rollbacks and their tool calls until SIGTERM.

    With --overlay, in place of ORCHESTRATOR_OVERLAYS over the documents of ORCHESTRATOR_SPECS.

    Example: TEMPORAL_ADDRESS=temporal:7233 orchestrator worker --overlay crm-tools.yaml
    """

    def ready() -> None:
        progress.print(f"worker polls the task queue {settings.task_queue!r}")
        if ready_file is not None:
            ready_file.touch()

    async def serve() -> None:
        from orchestrator.client.connection import connect_temporal
        from orchestrator.runtime.worker import run_worker

        await run_worker(await connect_temporal(), settings, ready=ready)

    settings = load_settings()
    if overlays:
        settings = settings.model_copy(update={"overlays": tuple(overlays)})
    run(serve(), is_service=True)
