"""The options that say what a mission is asked for: of `mission start`, and of schedules."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.planning.models import OwnPlanner

Goal = Annotated[str, typer.Argument(help="What to do, in plain words.", show_default=False)]
FollowUpId = Annotated[
    str | None,
    typer.Option(
        "--follow-up", metavar="ID:N", help="In place of a goal: what `mission show` lists."
    ),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(
        "--order",
        metavar="TOOL[=N]",
        help="A consequence that you order yourself, repeatable: standing approvals cover it.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="K=V", help="A value the mission may use; repeatable."),
]
Budget = Annotated[
    tuple[str, str] | None,
    typer.Option("--budget", metavar="AMOUNT CUR", help="The most it may spend: 900 EUR."),
]
OwnId = Annotated[
    str | None, typer.Option("--id", help="Your own id: starting it twice starts it once.")
]
Policy = Annotated[
    Path | None,
    typer.Option(help="A YAML or JSON file: who confirms what, how long things may take."),
]
Requester = Annotated[
    str | None,
    typer.Option(help="Who asks; a policy may say that others approve. Default: your account."),
]
PlanFirst = Annotated[
    bool, typer.Option("--plan-first", help="Do nothing before somebody has approved its plan.")
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="Refuse every call that would change something.")
]
Chosen = Annotated[
    OwnPlanner | None,
    typer.Option("--planner", help="Who plans it: chaining, by rules, or llm, a model."),
]
Tenant = Annotated[
    str, typer.Option(help="Whose work it is; while tasks wait, each tenant has its share.")
]
Urgency = Annotated[
    int | None,
    typer.Option("--priority", min=1, max=5, help="While tasks wait, 1 goes first, 5 last."),
]
