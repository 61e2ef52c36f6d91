"""The options of `mission start` and `mission plan`, as one mission request."""

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from orchestrator.cli.options import (
    Model,
    as_usage,
    read_money,
    read_pairs,
    read_policy,
    split_pair,
)
from orchestrator.cli.output import account_name, ask, line, progress
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.core.limits import Limits
    from orchestrator.messages.mission import MissionRequest
    from orchestrator.planning.models import WorkflowSource

Goal = Annotated[str, typer.Argument(help="The goal, in plain words.", show_default=False)]
FollowUpId = Annotated[
    str | None,
    typer.Option(
        "--follow-up",
        metavar="ID:N",
        help="Start this follow-up of `mission show` in place of a goal.",
    ),
]
WorkflowFile = Annotated[
    str | None,
    typer.Option(
        "--workflow",
        metavar="FILE[#ID]",
        help="Run a workflow of an Arazzo document in place of a goal.",
    ),
]
SourceNames = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=DOCUMENT",
        help="The catalog's document for a source description of --workflow; repeatable.",
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
    typer.Option(
        help="The requester; a policy may require others to approve. Default: your account."
    ),
]
PlanFirst = Annotated[
    bool, typer.Option("--plan-first", help="Do nothing before somebody has approved its plan.")
]
OnFailure = Annotated[
    Literal["rollback", "ask"] | None,
    typer.Option(
        "--on-failure",
        help="After a failure with effects: rollback, or ask first (mission repair decides).",
    ),
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="Refuse every call that would change something.")
]
Observe = Annotated[
    bool,
    typer.Option(
        "--observe", help="Guard nothing: ask nobody, cancel nothing, and record what would be."
    ),
]
LimitPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="WHAT=N",
        help="The most it may use up, repeatable: requests, input_tokens, output_tokens, "
        "total_tokens, cost_usd, tool_calls, steps, wall_clock (PT2H).",
    ),
]
PlannerChoice = Annotated[
    Literal["chaining", "llm"] | None,
    typer.Option("--planner", help="The planner: chaining, by rules, or llm, a model."),
]

Command = Callable[..., None]
RequestMaker = functools.partial["MissionRequest"]
"""Makes the request of a command's options when it is called without arguments."""
_OF_STARTS: Final = ("mission_id", "follow_up")
"""Options that a start alone has."""


def takes_request(*, starts: bool = False) -> Callable[[Command], Command]:
    """Give a command, in the place of its first parameter, all options that make up a request.

    With `starts`, these include the options of a start, such as an id of the caller's own.
    """

    def with_options(command: Command) -> Command:
        asked = dict(inspect.signature(request_of).parameters)
        for name in () if starts else _OF_STARTS:
            del asked[name]
        _, *own = inspect.signature(command).parameters.values()

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(RequestMaker(request_of, **{n: given.pop(n) for n in asked}), **given)

        by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in (*asked.values(), *own)]
        run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in by_name}
        return run

    return with_options


def request_of(
    goal: Goal = "",
    inputs: Inputs = None,
    budget: Budget = None,
    mission_id: OwnId = None,
    follow_up: FollowUpId = None,
    workflow: WorkflowFile = None,
    sources: SourceNames = None,
    orders: Orders = None,
    policy: Policy = None,
    requester: Requester = None,
    plan_first: PlanFirst = False,
    limits: LimitPairs = None,
    planner: PlannerChoice = None,
    model: Model = None,
    read_only: ReadOnly = False,
    observe: Observe = False,
    on_failure: OnFailure = None,
) -> "MissionRequest":
    """Return the request that the options make up, its policy tightened where they say so."""
    from pydantic import ValidationError

    from orchestrator.client.start import new_mission_id
    from orchestrator.messages.mission import MissionRequest
    from orchestrator.planning.models import title_of
    from orchestrator.saga.orders import Order
    from orchestrator.settings import load_policy, load_settings

    ordered: list[Order] = []
    for text in orders or ():
        tool, _, count = text.partition("=")
        try:
            ordered.append(Order(tools=(tool.strip(),), count=int(count or 1), clause=text))
        except ValueError:
            raise UsageError(
                f"--order {text!r} is not TOOL or TOOL=N, such as pay_invoice=2"
            ) from None
    if sum(map(bool, (goal.strip(), follow_up, workflow))) != 1:
        raise UsageError(
            "say what to do: a goal in words, or --workflow FILE or --follow-up ID:N in its place"
        )
    written = None if workflow is None else workflow_source(workflow, sources or [])
    goal = goal or (f"follow-up {follow_up}" if written is None else title_of(written))
    try:
        request = MissionRequest(
            goal=goal,
            inputs=read_pairs(inputs or []),
            budget=None if budget is None else read_money(*budget),
            # Made here, so that it is known whatever happens to this process. The id says nothing
            # of a goal that is encrypted.
            mission_id=mission_id or new_mission_id(goal, names_goal=not load_settings().encrypts),
            requester=account_name() if requester is None else requester,
            planner=planner,
            model=model,
            read_only=read_only,
            observe=observe,
            on_failure=on_failure,
            workflow=written,
            orders=tuple(ordered),
        )
    except ValidationError as error:
        raise as_usage(error) from None
    given = read_policy(policy)
    if plan_first or limits:
        usual = given or load_policy(load_settings().mission_policy) or request.policy
        tighter = {
            "plan_first": plan_first or usual.plan_first,
            "limits": usual.limits.intersect(read_limits(limits or [])),
        }
        given = usual.model_copy(update=tighter)
    if given is not None:
        request = request.model_copy(update={"policy": given})
    if follow_up is None:
        return request
    request = ask(lambda client: client.follow_up(follow_up, request))
    progress.print(line(f"{follow_up}: {request.goal}"), soft_wrap=True)
    return request


def workflow_source(named: str, sources: Sequence[str]) -> "WorkflowSource":
    """Return the workflow that `FILE` or `FILE#ID` names."""
    from orchestrator.arazzo.arazzo_files import load_contents
    from orchestrator.planning.models import MOST_WORKFLOW_CHARACTERS, WorkflowSource

    file, _, workflow_id = named.partition("#")
    document, linked = load_contents(file)
    if (size := len(json.dumps([document, linked]))) > MOST_WORKFLOW_CHARACTERS:
        raise UsageError(
            f"{file}: {size:,} characters of JSON, and a mission takes at most "
            f"{MOST_WORKFLOW_CHARACTERS:,}: leave out the workflows that it does not run"
        )
    return WorkflowSource(
        document=document,
        name=Path(file).name,
        workflow_id=workflow_id,
        sources=dict(map(split_pair, sources)),
        linked=linked,
    )


def read_limits(pairs: Sequence[str]) -> "Limits":
    """Return `["requests=40", "wall_clock=PT2H"]` as limits."""
    from pydantic import ValidationError

    from orchestrator.core.limits import Limits

    named = dict(map(split_pair, pairs))
    if unknown := [name for name in named if name not in Limits.model_fields]:
        known = ", ".join(Limits.model_fields)
        raise UsageError(f"there is no limit {unknown[0]!r}; limits are {known}")
    try:
        return Limits.model_validate(named)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        wanted = "a time such as PT2H" if name == "wall_clock" else "a number above 0"
        raise UsageError(f"--limit {name}={named[name]}: {wanted} is wanted") from None
