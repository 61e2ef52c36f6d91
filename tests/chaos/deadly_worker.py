"""A worker whose planner kills it: `python -m tests.chaos.deadly_worker --ready-file F`.

Each death is noted as a line of the file `deaths` in the state directory: where the step was
thought. It ends when the file `mended` is there.
"""

import os
from typing import Any

from temporalio import activity

from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.settings import load_settings
from tests.chaos.kept_alive_worker import serve_kept_alive

_plan_step = RulePlanner.plan_step


async def _deadly(planner: RulePlanner, *given: Any) -> Any:
    folder = load_settings().state_dir
    if not (folder / "mended").exists():
        with (folder / "deaths").open("a") as deaths:
            deaths.write("task\n" if activity.info().is_local else "activity\n")
        os._exit(1)
    return await _plan_step(planner, *given)


def main() -> None:
    """Keep the worker alive until SIGTERM."""
    RulePlanner.plan_step = _deadly  # type: ignore[method-assign, assignment]
    serve_kept_alive("python -m tests.chaos.deadly_worker")


if __name__ == "__main__":
    main()
