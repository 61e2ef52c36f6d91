"""A leg as others see it: its planner, its mission and the legs that follow it.

All of it is read from the leg as it stands, and nothing here changes it.
"""

from collections.abc import Iterator

from pydantic import JsonValue
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import left_of
    from orchestrator.core.pii import as_written, is_handle
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegResult
    from orchestrator.planning.models import Fact, StepContext
    from orchestrator.saga.judged import is_about, is_empty, says
    from orchestrator.saga.served import LookedUp


_LONGEST_ID = 200


def step_context(leg: LegInput) -> StepContext:
    """What routing and planning are told for the step that it is at."""
    state = leg.state
    return StepContext(
        mission_id=leg.mission_id,
        leg_id=leg.leg.leg_id,
        step=state.step,
        mission_goal=leg.mission_goal,
        leg_goal=leg.leg.goal,
        agent=leg.leg.agent,
        inputs=as_written({**leg.inputs, **state.answers}),
        facts=leg.facts,
        observations=state.observations,
        discovered=state.discovered,
        orders=leg.leg.orders,
        decides=leg.leg.decides,
        only_looks=leg.leg.only_looks,
        budget_left=None if leg.budget is None else left_of(leg.budget, state.taken),
        # The mission's start, not this step's: "tomorrow" means the same in every leg.
        now=leg.started_at,
        catalog_digest=leg.catalog.digest,
    )


def leg_result(leg: LegInput) -> LegResult:
    """The result document as it stands."""
    state = leg.state
    return LegResult(
        leg_id=leg.leg.leg_id,
        agent=leg.leg.agent.name,
        goal=leg.leg.goal,
        status=state.status,
        summary=state.summary,
        table=state.table,
        error=state.error,
        steps=state.steps,
        facts=_facts(leg),
        ledger=state.ledger,
        spend=state.spend,
        usage=state.usage,
        decisions=state.decisions,
        looked_up=tuple(_looked_up(leg)),
        discovered=state.discovered,
        decided=state.decided,
    )


def facts_naming(arguments: JsonObject, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that may tell what a call's arguments name: a call carries no others along."""
    wanted = {value for value in _scalars(arguments) if _may_name(value)}
    return tuple(fact for fact in facts if not wanted.isdisjoint(_scalars(fact.body)))


def facts_of_nothing(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The last fact of each leg that only looked, and found nothing: what goes on about it asks."""
    by_leg: dict[str, list[Fact]] = {}
    for fact in facts:
        by_leg.setdefault(fact.source.rpartition(".")[0], []).append(fact)
    in_vain = (of for of in by_leg.values() if all(_is_in_vain(fact) for fact in of))
    return tuple(of[-1] for of in in_vain)


def _is_in_vain(fact: Fact) -> bool:
    return not fact.side_effect and is_empty(fact.body)


def _scalars(value: JsonValue) -> Iterator[str | int | float | None]:
    if isinstance(value, dict):
        for held in value.values():
            yield from _scalars(held)
    elif isinstance(value, list):
        for held in value:
            yield from _scalars(held)
    else:
        yield value


def _may_name(value: JsonValue) -> bool:
    """Whether a value could be the id of something: no long text, no yes or no."""
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ID and not is_handle(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _looked_up(leg: LegInput) -> Iterator[LookedUp]:
    """What its answers tell of the conditions that are told by words."""
    for condition in filter(lambda one: one.stems, leg.leg.conditions):
        for o in leg.state.observations:
            asked = o.outcome == "succeeded" and o.tool in condition.tools
            if asked and is_about(o.arguments, o.body, condition.days):
                is_so = says(o.body, condition.stems, condition.days)
                yield LookedUp(clause=condition.clause, tool=o.tool, is_so=is_so)


def _facts(leg: LegInput) -> tuple[Fact, ...]:
    """What the legs that depend on this one learn: its side effects, else its last find."""
    good = [o for o in leg.state.observations if o.outcome == "succeeded"]
    chosen = [o for o in good if o.side_effect] or good[-1:]
    titles = {o.obligation_id: o.title for o in leg.state.ledger.obligations}
    return tuple(
        Fact(
            source=f"{leg.leg.leg_id}.{o.step}",
            tool=o.tool,
            side_effect=o.side_effect,
            title=titles.get(names.call_id(leg.mission_id, leg.leg.leg_id, o.step), ""),
            arguments=o.arguments,
            body=o.body,
            price=o.price,
            at=o.at,
        )
        for o in chosen
    )
