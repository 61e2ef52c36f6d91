"""Missions of written workflows: their plan and their steps, without a model or reading a goal."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import CallMove, EndMove, FailMove, Move, StepAnswer, next_move
from orchestrator.arazzo.written import WrittenStep, WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import PlanInvalid
from orchestrator.core.limits import Limits
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import with_definitions
from orchestrator.json_schema.validation import field_problems
from orchestrator.json_schema.walker import properties_of, required_of
from orchestrator.language.intent import IntentFrame
from orchestrator.planning.models import (
    NO_TERMS,
    WRITTEN,
    AgentProfile,
    CallTerms,
    CallTool,
    Finish,
    GiveUp,
    GoalBrief,
    LegPlan,
    MissionPlan,
    Observation,
    StepContext,
    StepDecision,
    StepGoal,
    WorkflowSource,
)
from orchestrator.planning.walls import is_inside, none_may
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order, WhenRead

_MOST_STEPS: Final = 1_000
"""Of a leg whose agent sets no limits: the engine's own limits of repetition come first."""
_ALWAYS_READ: Final = ("date", "retry-after")
"""A `Retry-After` that is a date is a wait from the answer's own `Date`."""
_HEADER: Final = re.compile(r"\$response\.header\.([!#$%&'*+.^_`|~0-9A-Za-z-]+)")


def plan_of_workflow(
    source: WorkflowSource, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
) -> MissionPlan:
    """Return the plan of a written workflow: a leg for it, and one for each that it depends on.

    Raises:
        DocumentInvalid: the document cannot be run over this catalog; says where and why.
        PlanInvalid: the mission's inputs are not those of the workflow.
        PlanError: no agent may use a tool of it.
    """
    document, linked = parsed(source)
    bound = bind(document, source.workflow_id, catalog, {**linked, **source.sources})
    faults = dict.fromkeys(fault for one in bound for fault in _faults(one, brief.inputs))
    if faults:
        raise PlanInvalid(f"the inputs of {bound[-1].workflow_id}: {'; '.join(faults)}")
    ids = {one.workflow_id: _leg_id(number, one) for number, one in enumerate(bound, 1)}
    legs = tuple(
        LegPlan(
            leg_id=ids[one.workflow_id],
            goal=one.summary or one.workflow_id,
            agent=_agent_of(one, brief, catalog, agents),
            depends_on=tuple(ids[needed] for needed in one.depends_on),
            orders=tuple(_orders_of(one)),
            written=one,
            planned_by=WRITTEN,
        )
        for one in bound
    )
    return MissionPlan(legs=legs, made_by=PlanOrigin(planner="workflow"))


def parsed(source: WorkflowSource) -> tuple[ArazzoDocument, dict[str, str | ArazzoDocument]]:
    """Return the documents of a source, checked: nothing of them is a credential, for instance.

    Raises:
        DocumentInvalid: a document cannot be run here; says where and why.
    """
    linked = {url: parse_document(url, content) for url, content in source.linked.items()}
    return parse_document(source.name, source.document), {**linked}


def selection_of_workflow(
    written: WrittenWorkflow, context: StepContext, catalog: Catalog
) -> Selection:
    """Return the selection of a step of a workflow: the tool that it calls next."""
    move = _move(written, context)
    tools = (move.tool,) if isinstance(move, CallMove) and move.tool else ()
    return Selection(
        tools=tools,
        k=len(tools),
        band="crisp",
        reason=f"written in {written.workflow_id}",
        frame=IntentFrame(),
        catalog_size=len(catalog.tools),
    )


def step_of_workflow(written: WrittenWorkflow, context: StepContext) -> StepDecision:
    """Return the next step of a workflow, from the outcomes of those so far."""
    match _move(written, context):
        case CallMove(step=WrittenStep(goal=goal) as step) as move if goal:
            return StepGoal(
                step_id=move.step_id,
                goal=goal,
                agent=step.agent,
                inputs=move.arguments,
                output_schema=step.output_schema,
                orders=tuple(_orders_of(written, move.step_id)),
                after_s=move.after_s,
            )
        case CallMove() as call:
            return CallTool(
                tool=call.tool,
                arguments=call.arguments,
                reason=call.title,
                step_id=call.step_id,
                after_s=call.after_s,
                headers=_headers_read(written),
                call_terms=_terms(call),
            )
        case EndMove(outputs=outputs, skipped=skipped, missing=missing):
            done = f"{written.summary or written.workflow_id}: done."
            return Finish(
                summary=f"{done} {'; '.join(missing)}".strip(),
                outputs=outputs,
                conditions=tuple(
                    WhenRead(when=_reached(path), holds=False, read="the workflow ended without it")
                    for path in skipped
                ),
            )
        case FailMove(step_id=step_id, reason=reason):
            return GiveUp(reason=f"step {step_id}: {reason}")


def _terms(call: CallMove) -> CallTerms:
    if (step := call.step) is None:
        return NO_TERMS
    return CallTerms(
        card_type=step.card_type,
        approvers=step.approvers,
        cancel=call.cancel,
        timeout_s=step.timeout_s or None,
    )


def _move(written: WrittenWorkflow, context: StepContext) -> Move:
    answers: list[StepAnswer] = []
    for seen in context.observations:
        if seen.replaces and answers and answers[-1].step_id == seen.step_id:
            answers.pop()
        if seen.step_id:
            answers.append(_answer(seen))
    return next_move(written, context.inputs, answers, context.outputs_of)


def _answer(seen: Observation) -> StepAnswer:
    outcome = "succeeded" if seen.outcome == "handed_over" else seen.outcome
    if outcome not in ("succeeded", "rejected", "unknown", "refused", "invalid"):
        outcome = "refused"
    by = f"{seen.refused_by} refused it: " if seen.refused_by else ""
    return StepAnswer(
        step_id=seen.step_id,
        outcome=outcome,
        status=seen.status,
        headers=seen.headers,
        body=seen.body,
        error=f"{by}{seen.hint or seen.error or ''}",
        arguments=seen.arguments,
    )


def _orders_of(workflow: WrittenWorkflow, only: str = "") -> Iterator[Order]:
    for path, step in workflow.paths():
        for tool in step.tools if step.is_consequence and only in ("", path) else ():
            yield Order(
                tools=(tool,),
                count=step.repeats,
                at_most=step.repeats > 1,
                when=_reached(path),
                clause=step.title or step.step_id,
            )


def _reached(path: str) -> str:
    return f"the step {path} is reached"


def _headers_read(workflow: WrittenWorkflow) -> tuple[str, ...]:
    found = {name.lower() for name in _HEADER.findall(workflow.model_dump_json())}
    return (*_ALWAYS_READ, *sorted(found.difference(_ALWAYS_READ)))


def _faults(workflow: WrittenWorkflow, inputs: JsonObject) -> Iterator[str]:
    known = properties_of(workflow.inputs)
    for name in required_of(workflow.inputs):
        if name not in inputs:
            yield f"{name} is missing: give --input {name}=VALUE"
    given = {name: value for name, value in inputs.items() if name in known}
    schemas = {name: with_definitions(known[name], workflow.inputs) for name in given}
    yield from field_problems(schemas, given)


def _agent_of(
    workflow: WrittenWorkflow, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
) -> AgentProfile:
    """Return the first agent that may make every call of a workflow, or the one that it names."""
    steps = workflow.called_steps()
    named = {step.agent for step in steps if step.agent and not step.goal}
    tools = [catalog.tool(name) for step in steps for name in step.tools if not step.goal]
    for step in steps:
        if step.goal:
            _check_goal(step, catalog, agents)
    if not agents and not named:
        agents = [AgentProfile(name="generalist")]
    for agent in agents:
        if named <= {agent.name} and all(is_inside(tool, (agent.wall,)) for tool in tools):
            changes: dict[str, object] = {"limits": _limits(agent)}
            if agent.planner is None and agent.model is None:  # for goals of its steps
                changes |= {"planner": brief.planner, "model": brief.model}
            return agent.model_copy(update=changes)
    if named:
        listed = ", ".join(sorted(named))
        raise PlanInvalid(f"{workflow.workflow_id}: no single agent called {listed} may do it all")
    outside = next(
        tool for tool in tools if not all(is_inside(tool, (agent.wall,)) for agent in agents)
    )
    raise none_may(brief.goal, outside)


def _check_goal(step: WrittenStep, catalog: Catalog, agents: Sequence[AgentProfile]) -> None:
    tools = [catalog.tool(name) for name in step.orders]
    if (agents or step.agent) and agent_of_goal(step.agent, tools, agents) is None:
        known = ", ".join(one.name for one in agents) or "none"
        what = f"no agent called {step.agent}" if step.agent else "no single agent"
        does = f" may use {', '.join(step.orders)}" if step.orders else " is known"
        raise PlanInvalid(f"step {step.step_id}: {what}{does}; the agents are {known}")


def agent_of_goal(
    named: str, tools: Sequence[Tool], agents: Sequence[AgentProfile]
) -> AgentProfile | None:
    """Return the first agent, or the named one, that may use all these tools; None if none may."""
    able = (one for one in agents if named in ("", one.name))
    return next((a for a in able if all(is_inside(tool, (a.wall,)) for tool in tools)), None)


def _limits(agent: AgentProfile) -> Limits:
    own = agent.limits
    return own.model_copy(
        update={"steps": own.steps or _MOST_STEPS, "tool_calls": own.tool_calls or _MOST_STEPS}
    )


def _leg_id(number: int, workflow: WrittenWorkflow) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", workflow.workflow_id.lower()).strip("-")
    return f"{number}-{name}"[:64]
