"""A leg as the Temporal UI shows it: what it waits for, its steps and what it has done."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.markdown import as_markdown
    from orchestrator.core import command_lines
    from orchestrator.messages.leg import LegInput, LegWaiting, Question
    from orchestrator.messages.model_trouble import ModelChange
    from orchestrator.messages.news import wait_of
    from orchestrator.messages.question_field import question_fields
    from orchestrator.messages.step import StepRecord
    from workflows import markdown_page as md


def leg_page(leg: LegInput, waiting: LegWaiting) -> str:
    """All of a leg on one page; what a person has to do comes first."""
    state = leg.state
    lines = [
        f"**{state.status}**: {md.text(leg.leg.goal)}",
        "",
        f"**Mission** {md.link(leg.mission_id, leg.mission_id)}: {md.text(leg.mission_goal)}",
        f"**Agent** {md.text(leg.leg.agent.name)}",
        f"**Money** {md.spent(state.spend, leg.budget)}",
        *([f"**Models** {state.usage}"] if state.usage.requests else []),
    ]
    if state.error:
        lines.append(f"**Error** {md.text(state.error)}")
    if state.held_up:
        lines.append(f"**Waits** {md.text(state.held_up)}")
    if state.summary:
        lines.append(f"**Result** {md.text(state.summary)}")
    lines += md.section("Found", md.table_lines(state.table))
    if waiting.card is not None:
        lines += ["", "waits for a decision:", "", as_markdown(waiting.card)]
    if waiting.question is not None:
        lines += _question(waiting.question, waiting)
    if waiting.pause is not None:
        lines += ["", md.text(waiting.pause.told)]
        lines += [f"- {md.command(c)}" for c in command_lines.resume_leg(waiting.pause.pause_id)]
    lines += md.section("Models", [_change_line(one) for one in state.model.changes])
    before = [f"- {state.steps_before} before these"] if state.steps_before else []
    lines += md.section("Steps", [*before, *(_step_line(step) for step in state.steps)])
    lines += md.section("Ledger", [md.obligation_line(o) for o in state.ledger.obligations])
    return md.page(lines, mission_id=leg.mission_id)


def _question(question: Question, waiting: LegWaiting) -> list[str]:
    wait = wait_of(waiting)
    until = f", until {md.moment(question.expires_at)}" if question.expires_at else ""
    return [
        "",
        f"asks{until}: {md.text(question.question)}",
        *_particulars(question),
        *(md.command(line) for line in (wait.commands if wait else ())),
    ]


def _particulars(question: Question) -> list[str]:
    """Why it is asked, what each field takes, its choices, and what happens without an answer."""
    lines = [f"asked because: {md.text(question.why)}"] if question.why else []
    for field in question_fields(question.fields):
        lines.append(f"- {md.text(field.told(question.today))}")
        lines += [f"- {md.text(choice)}" for choice in field.listed()]
    return [*lines, "", *([md.text(question.otherwise)] if question.otherwise else [])]


def _change_line(change: ModelChange) -> str:
    by = f", decided by {md.text(change.by)}" if change.by else ""
    named = md.text(change.model or "the worker's default")
    return f"- {md.moment(change.at)} on with **{named}**{by}: {md.text(change.why)}"


def _step_line(step: StepRecord) -> str:
    tools = f"{len(step.tools_forwarded)} of {step.catalog_size} tools"
    if step.usage is not None and step.usage.requests:
        tools = f"{tools}; {step.usage}"
    why = f": {md.text(step.error)}" if step.error else ""
    return f"- {step.label}. {md.text(step.did)} → **{md.text(step.outcome)}**{why} ({tools})"
