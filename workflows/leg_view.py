"""A leg as others see it: its planner, the legs that follow, its mission, and the Temporal UI.

All of it is read from the leg as it stands, and nothing here changes it.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.markdown import as_markdown
    from orchestrator.core.budget import Money
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegResult, LegWaiting
    from orchestrator.planning.models import Fact, StepContext


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
        inputs={**leg.inputs, **state.answers},
        facts=leg.facts,
        observations=state.observations,
        discovered=state.discovered,
        budget_left=_budget_left(leg),
        # The mission's start, not this step's: "tomorrow" means the same in every leg.
        now=leg.started_at,
        catalog_digest=leg.catalog.digest,
    )


def _budget_left(leg: LegInput) -> Money | None:
    budget = leg.budget
    if budget is None:
        return None
    spent = leg.state.spend.by_currency.get(budget.currency)
    left = budget.amount if spent is None else max(budget.amount - spent, budget.amount * 0)
    return Money(amount=left, currency=budget.currency)


def leg_result(leg: LegInput) -> LegResult:
    """The result document as it stands."""
    state = leg.state
    return LegResult(
        leg_id=leg.leg.leg_id,
        agent=leg.leg.agent.name,
        goal=leg.leg.goal,
        status=state.status,
        summary=state.summary,
        error=state.error,
        steps=state.steps,
        facts=_facts(leg),
        ledger=state.ledger,
        spend=state.spend,
        usage=state.usage,
        decisions=state.decisions,
    )


def _facts(leg: LegInput) -> tuple[Fact, ...]:
    """What the legs that depend on this one learn: its side effects, else its last find."""
    good = [o for o in leg.state.observations if o.outcome == "succeeded"]
    chosen = [o for o in good if o.side_effect] or good[-1:]
    return tuple(
        Fact(
            source=f"{leg.leg.leg_id}.{o.step}",
            tool=o.tool,
            side_effect=o.side_effect,
            title=_title_of(leg, o.step),
            arguments=o.arguments,
            body=o.body,
            price=o.price,
        )
        for o in chosen
    )


def _title_of(leg: LegInput, step: int) -> str:
    wanted = names.call_id(leg.mission_id, leg.leg.leg_id, step)
    titles = [o.title for o in leg.state.ledger.obligations if o.obligation_id == wanted]
    return titles[0] if titles else ""


def details(leg: LegInput, waiting: LegWaiting) -> str:
    """Its status, its steps, and what it waits for a person to do, as Markdown."""
    state = leg.state
    lines = [f"**{state.status.value}**: {leg.leg.goal}", ""]
    lines += [
        f"{s.step}. {s.did} → {s.outcome} ({len(s.tools_forwarded)} of {s.catalog_size} tools)"
        for s in state.steps
    ]
    if waiting.card is not None:
        lines += ["", "waits for a decision:", "", as_markdown(waiting.card)]
    if waiting.question is not None:
        lines += ["", f"asks: {waiting.question.question}"]
    return "\n".join(lines)
