"""What the Temporal UI shows of a leg: its current details, as Markdown."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.cards.markdown import as_markdown
    from orchestrator.confirm import ConfirmationCard
    from orchestrator.contracts import LegState
    from orchestrator.mission import Question


def details(
    goal: str, state: LegState, *, card: ConfirmationCard | None, question: Question | None
) -> str:
    """A leg's status, its steps, and what it waits for a person to do."""
    lines = [f"**{state.status.value}**: {goal}", ""]
    lines += [
        f"{s.step}. {s.did} → {s.outcome} ({len(s.tools_forwarded)} of {s.catalog_size} tools)"
        for s in state.steps
    ]
    if card is not None:
        lines += ["", "waits for a decision:", "", as_markdown(card)]
    if question is not None:
        lines += ["", f"asks: {question.question}"]
    return "\n".join(lines)
