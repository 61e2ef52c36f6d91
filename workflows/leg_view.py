"""A leg as others see it: its planner, its mission and the legs that follow it.

All of it is read from the leg as it stands, and nothing here changes it.
"""

from collections.abc import Iterator
from string import ascii_lowercase

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import left_of
    from orchestrator.core.call_ref import step_label
    from orchestrator.core.limits import Allowance, left_of_limits
    from orchestrator.core.pii import as_written
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegResult
    from orchestrator.planning.models import AgentProfile, Fact, StepContext
    from orchestrator.saga.judged import is_about, says
    from orchestrator.saga.served import LookedUp


def step_context(leg: LegInput) -> StepContext:
    """What routing and planning are told for the step that it is at."""
    state = leg.state
    return StepContext(
        mission_id=leg.mission_id,
        leg_id=leg.leg.leg_id,
        step=state.step,
        mission_goal=leg.mission_goal,
        leg_goal=leg.leg.goal,
        agent=_asked_agent(leg),
        inputs=as_written({**leg.inputs, **state.answers}),
        facts=leg.facts,
        observations=state.observations,
        discovered=state.discovered,
        orders=leg.leg.orders,
        decides=leg.leg.decides,
        only_looks=leg.leg.only_looks,
        budget_left=None if leg.budget is None else left_of(leg.budget, state.taken),
        allowance=allowance_of(leg),
        # The mission's start, not this step's: "tomorrow" means the same in every leg.
        now=leg.started_at,
        catalog_digest=leg.catalog.digest,
        conversation=state.conversation,
        forwarded=state.forwarded,
    )


def allowance_of(leg: LegInput) -> Allowance | None:
    """What the leg may still take of models: of its own limits, and of its share of others'."""
    left = left_of_limits(leg.leg.agent.leg_limits.beside(leg.limits), leg.state.used)
    if (share := leg.state.share.allowance) is not None:
        left = left.beside(share.after(leg.state.share.since, leg.state.used))
    return left.of_models() if left.of_models().left else None


def _asked_agent(leg: LegInput) -> AgentProfile:
    """The leg's agent, with the model that it goes on with."""
    agent, name = leg.leg.agent.within(leg.limits), leg.state.model.name
    return agent if name is None else agent.model_copy(update={"model": name or None})


def leg_result(leg: LegInput) -> LegResult:
    """The result document as it stands."""
    state = leg.state
    return LegResult(
        leg_id=leg.leg.leg_id,
        agent=leg.leg.agent.name,
        goal=leg.leg.goal,
        status=state.status,
        summary=state.summary,
        unproved_why=state.unproved,
        unheld=state.unheld,
        planned_by=leg.leg.planned_by,
        table=state.table,
        error=state.error,
        steps=state.steps,
        steps_before=state.steps_before,
        called=state.called,
        facts=facts_of(leg),
        facts_before=state.facts_before,
        held_up=state.held_up,
        ledger=state.ledger,
        spend=state.spend,
        usage=state.usage,
        tool_calls=state.tool_calls,
        steps_taken=state.step,
        limit=state.limit,
        decisions=state.decisions,
        looked_up=(*state.looked_up, *looked_up_in(leg)),
        discovered=state.discovered,
        decided=state.decided,
        model_changes=state.model.changes,
    )


def looked_up_in(leg: LegInput) -> Iterator[LookedUp]:
    """What answers that it holds itself tell of the conditions that are told by words."""
    if leg.state.past:  # whoever had them whole has said what they tell
        return
    for condition in filter(lambda one: one.stems, leg.leg.conditions):
        for o in leg.state.observations:
            asked = o.outcome == "succeeded" and o.tool in condition.tools
            if asked and is_about(o.arguments, o.body, condition.days):
                is_so = says(o.body, condition.stems, condition.days)
                yield LookedUp(clause=condition.clause, tool=o.tool, is_so=is_so)


def facts_of(leg: LegInput) -> tuple[Fact, ...]:
    """What the legs that depend on this one learn: its side effects, else what it found last."""
    own = [o for o in leg.state.observations if o.outcome == "succeeded"]
    titles = {o.obligation_id: o.title for o in leg.state.ledger.obligations}
    good = [
        *leg.state.facts,
        *(
            Fact(
                source=f"{leg.leg.leg_id}.{step_label(o.step, o.part)}",
                tool=o.tool,
                side_effect=o.side_effect,
                title=titles.get(names.call_id(leg.mission_id, leg.leg.leg_id, o.step, o.part), ""),
                arguments=o.arguments,
                body=o.body,
                price=o.price,
                at=o.at,
                body_ref=o.body_ref,
            )
            for o in own
        ),
    ]
    last = [fact for fact in good if _step_of(fact) == _step_of(good[-1])]
    return tuple([fact for fact in good if fact.side_effect] or last)


def _step_of(fact: Fact) -> str:
    """Its leg and step, whichever of the calls made at once taught it."""
    return fact.source.rstrip(ascii_lowercase)
