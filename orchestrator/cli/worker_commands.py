"""`orchestrator worker`: one worker process."""

import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import Model, Overlays, Planner, planning_variables
from orchestrator.cli.output import progress, run
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Made once the worker polls; for scripts that wait.")
    ] = None,
    overlays: Overlays = None,
    planner: Planner = None,
    model: Model = None,
) -> None:
    """One worker: runs missions, legs, rollbacks and their tool calls until SIGTERM.

    With --overlay, in place of ORCHESTRATOR_OVERLAYS over the documents of ORCHESTRATOR_SPECS.

    So are --planner and --model, in place of ORCHESTRATOR_PLANNER and ORCHESTRATOR_PLANNER_MODEL.

    Example: TEMPORAL_ADDRESS=temporal:7233 orchestrator worker --overlay crm-tools.yaml

    Example: OPENAI_API_KEY=... orchestrator worker --model openai:gpt-5
    """

    def ready() -> None:
        progress.print(f"worker polls the task queue {settings.task_queue!r}")
        if ready_file is not None:
            ready_file.touch()

    async def serve() -> None:
        from orchestrator.client.connection import connect_temporal
        from orchestrator.runtime.worker import run_worker

        await run_worker(await connect_temporal(), settings, ready=ready)

    os.environ.update(planning_variables(planner, model))
    settings = load_settings()
    if overlays:
        settings = settings.model_copy(update={"overlays": tuple(overlays)})
    run(serve(), is_service=True)
