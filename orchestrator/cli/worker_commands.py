"""`orchestrator worker`: one worker process."""

import gc
import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.clean_errors import tell_error
from orchestrator.cli.options import Model, Overlays, Planner, planning_variables
from orchestrator.cli.output import run
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False)
_log = logging.getLogger(__name__)
_NEW_OBJECTS = 10_000
"""After how many the collector looks for garbage once a worker runs: in passes of a millisecond,
for routing has no time for longer ones."""


@app.command()
def worker(
    ready_file: Annotated[
        Path | None, typer.Option(help="Made once the worker polls; for scripts that wait.")
    ] = None,
    overlays: Overlays = None,
    planner: Planner = None,
    model: Model = None,
) -> None:
    """One worker: runs missions and their tool calls until SIGTERM.

    With --overlay, in place of ORCHESTRATOR_OVERLAYS over the documents of ORCHESTRATOR_SPECS.

    So are --planner and --model, in place of ORCHESTRATOR_PLANNER and ORCHESTRATOR_PLANNER_MODEL.

    Example: TEMPORAL_ADDRESS=temporal:7233 orchestrator worker --overlay crm-tools.yaml

    Example: OPENAI_API_KEY=... orchestrator worker --model openai:gpt-5
    """

    def ready() -> None:
        gc.set_threshold(_NEW_OBJECTS)
        _log.info("worker polls the task queue %r", settings.task_queue)
        if ready_file is not None:
            ready_file.touch()

    async def serve() -> None:
        from orchestrator.runtime.process_telemetry import process_telemetry
        from orchestrator.runtime.settings_table import unknown_variables
        from orchestrator.runtime.worker import run_worker

        for unknown in unknown_variables(os.environ):
            tell_error(f"warning: {unknown}")
        asked = settings.health is not None
        async with process_telemetry("orchestrator-worker", serves_metrics=asked) as telemetry:
            await run_worker(
                settings=settings,
                ready=ready,
                connected=telemetry.watch,
                metrics=telemetry.metrics_text,
            )

    os.environ.update(planning_variables(planner, model))
    settings = load_settings()
    if overlays:
        settings = settings.model_copy(update={"overlays": tuple(overlays)})
    from orchestrator.runtime.worker_logs import log_lines  # with what only a worker imports

    log_lines(settings.log_format, settings.log_level)
    run(serve(), is_service=True)
