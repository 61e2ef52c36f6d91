"""Views of a leg for others: its planner, its mission and the legs that follow it.

Everything here is read from the leg's current state; nothing changes it.
"""

from collections.abc import Callable, Sequence
from string import ascii_lowercase

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Money
    from orchestrator.core.call_ref import step_label
    from orchestrator.core.limits import Allowance
    from orchestrator.core.pii import as_written
    from orchestrator.core.record import shared_fields
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegAccount, LegInput, LegResult
    from orchestrator.planning.models import Fact, StepContext
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.obligation import ObligationState
    from orchestrator.saga.orders import Effect, effects_of, unserved


def step_context(
    leg: LegInput, budget_left: Money | None, allowance: Allowance | None
) -> StepContext:
    """Return the context for routing and planning of the leg's current step."""
    state, agent = leg.state, leg.leg.agent.within(leg.limits)
    if (model := state.model.name) is not None:  # that the leg continues with
        agent = agent.model_copy(update={"model": model or None})
    return StepContext(
        mission_id=leg.mission_id,
        leg_id=leg.leg.leg_id,
        step=state.step,
        mission_goal=leg.mission_goal,
        leg_goal=leg.leg.goal,
        agent=agent,
        inputs=as_written({**leg.inputs, **state.answers}),
        facts=leg.facts,
        observations=state.observations,
        discovered=state.discovered,
        orders=leg.leg.orders,
        read_only=leg.read_only,
        call=leg.leg.call,
        written=leg.leg.written,
        output_schema=leg.leg.output_schema,
        outputs_of=leg.outputs_of,
        budget_left=budget_left,
        allowance=allowance,
        # The mission's start, not this step's: "tomorrow" means the same in every leg.
        now=leg.started_at,
        catalog_digest=leg.catalog.digest,
        conversation=state.conversation,
        forwarded=state.forwarded,
    )


def leg_result(leg: LegInput) -> LegResult:
    """Return the result document of the leg's current state."""
    state = leg.state
    return LegResult(
        **{**shared_fields(state, LegAccount), "facts": facts_of(leg)},
        leg_id=leg.leg.leg_id,
        agent=leg.leg.agent.name,
        goal=leg.leg.goal,
        status=state.status,
        unproved_why=state.unproved,
        planned_by=leg.leg.planned_by,
        steps_taken=state.step,
        model_changes=state.model.changes,
        pause=state.pause,
    )


def effects_of_leg(leg: LegInput) -> tuple[Effect, ...]:
    """Return the standing effects of the leg, and of the legs that it handed parts to."""
    others = (
        Effect(call_id=fact.source, leg_id=leg.leg.leg_id, tool=fact.tool, title=fact.title)
        for fact in leg.facts
        if fact.side_effect and fact.source.rpartition(".")[0] in leg.state.handed_to
    )
    ledger = leg.state.ledger
    live = {o.obligation_id for o in ledger.live()}
    own = effects_of(ledger, leg.leg.orders)
    standing = (
        effect.model_copy(update={"why_not": ""})
        for effect in own
        if not effect.why_not or effect.call_id in live
    )
    return (*standing, *others)


class MergedLedger:
    """The ledgers of several legs as one, which is merged again only after one has changed."""

    def __init__(self, ledgers: Callable[[], Sequence[Ledger]]) -> None:
        """Take the source of the legs' current ledgers, in a fixed order."""
        self._ledgers = ledgers
        self._parts: Sequence[Ledger] = ()
        self._merged = Ledger()

    def __call__(self) -> Ledger:
        """Return the merged ledger."""
        parts = self._ledgers()
        same = (one is other for one, other in zip(parts, self._parts, strict=False))
        if len(parts) != len(self._parts) or not all(same):
            self._parts, self._merged = parts, Ledger.merged(parts)
        return self._merged


def is_served(leg: LegInput) -> bool:
    """Return True if each order of a leg surely has its effects, and no call is in doubt.

    An order that states no number of effects is never served here.
    """
    orders, ledger = leg.leg.orders, leg.state.ledger
    if not orders or any(order.each or order.at_most for order in orders):
        return False
    clear = all(o.state is ObligationState.COMMITTED for o in ledger.live())
    clear = clear and all(cancel.outcome != "unknown" for cancel in ledger.cancels)
    return clear and not unserved(orders, effects_of_leg(leg))


def facts_of(leg: LegInput) -> tuple[Fact, ...]:
    """Return the facts for dependent legs: the leg's side effects, or else its last findings."""
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
    """Return the leg and step of a fact, without the letter of a concurrent call."""
    return fact.source.rstrip(ascii_lowercase)
