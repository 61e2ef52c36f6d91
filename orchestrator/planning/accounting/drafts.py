"""What a plan's calls would be told from the words of the goal alone, before any is made."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.accounting.grounds import Grounds, of_call
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.models import LegPlan, StepContext
from orchestrator.planning.rules.call_arguments import gather_arguments
from orchestrator.planning.rules.situation import read_situation


def drafted(
    legs: Iterable[LegPlan],
    paths: Mapping[str, Path],
    goal: str,
    catalog: Catalog,
    *,
    now: datetime,
) -> Grounds:
    """The values that the calls of the legs would be made with, by the inputs they are for."""
    whole = Grounds()
    for leg in legs:
        context = StepContext(
            mission_id="",
            leg_id=leg.leg_id,
            step=0,
            mission_goal=goal,
            leg_goal=leg.goal,
            agent=leg.agent,
            now=now,
            catalog_digest=catalog.digest,
        )
        path = paths[leg.leg_id]
        for tool in (*path.targets, *path.feeders):
            situation = read_situation(context, [tool.name], catalog)
            draft, _ = gather_arguments(tool, situation)
            whole |= of_call(tool, draft.arguments)
    return Grounds(held=whole.held)
