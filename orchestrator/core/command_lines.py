"""Command lines that pages and messages show, exactly as the command line accepts them.

Placeholders stand between `<` and `>`, unquoted: a shell into which such a line is pasted unchanged
runs nothing, so that nobody submits a reason that was only an example.
"""

import shlex
from collections.abc import Iterable


def approve_card(confirmation_id: str, digest: str) -> str:
    """Approve a card that was read, which its digest identifies."""
    return _line("confirm", "approve", confirmation_id, "--digest", digest)


def approve_after_reading(confirmation_id: str) -> str:
    """Show a card, and ask whether to approve it."""
    return _line("confirm", "approve", confirmation_id)


def amend_card(confirmation_id: str) -> str:
    """Change the arguments that a card would send."""
    return f"{_line('confirm', 'amend', confirmation_id)} <name>=<value>"


def respond_to_card(confirmation_id: str) -> str:
    """Send the planner back to search, with a hint."""
    return f"{_line('confirm', 'respond', confirmation_id)} --text <what you want instead>"


def reject_card(confirmation_id: str, then: Iterable[str] = ()) -> str:
    """Reject a card; `then` lists the words for the next step, of which one is chosen."""
    follows = "|".join(then)
    chosen = f" --then <{follows}>" if follows else ""
    return f"{_line('confirm', 'reject', confirmation_id)} --reason <why>{chosen}"


def show_card(confirmation_id: str) -> str:
    """Show a card."""
    return _line("confirm", "show", confirmation_id)


def write_file(mission_id: str, handle: str) -> str:
    """Write out a file that a mission received."""
    return f"{_line('mission', 'export', mission_id, '--file', handle)} --out <file>"


def answer_question(question_id: str, fields: Iterable[str] = ()) -> str:
    """Answer a leg's question, with a value for each field that it asks for."""
    answers = (f" {shlex.quote(name)}=<value>" for name in fields)
    return f"{_line('mission', 'answer', question_id)}{''.join(answers)}"


def resume_leg(pause_id: str) -> tuple[str, ...]:
    """Retry a model now, switch to another, or give up; for a mission id: all its legs."""
    line = _line("mission", "answer", pause_id)
    return (f"{line} --retry", f"{line} --model <provider:model>", f"{line} --give-up")


def repair(hold_id: str, *, can_go_on: bool = True) -> tuple[str, ...]:
    """Show a hold; repair what failed where that is possible, roll back, or keep what stands."""
    line = _line("mission", "repair", hold_id)
    goes_on = (f"{line} --amend <name>=<value>", f"{line} --hint <what to do instead>")
    return (line, *(goes_on if can_go_on else ()), f"{line} --rollback", f"{line} --keep")


def store_personal(field: str) -> str:
    """Put a personal value into the vault."""
    return _line("pii", field)


def terminate(workflow_id: str) -> str:
    """Terminate a workflow that no longer responds, with Temporal's own command line."""
    return f"temporal workflow terminate --workflow-id {shlex.quote(workflow_id)}"


def show_mission(mission_id: str) -> str:
    """Show a whole mission."""
    return _line("mission", "show", mission_id)


def start_follow_up(follow_up_id: str) -> str:
    """Start a mission that makes the one call of a follow-up action."""
    return _line("mission", "start", "--follow-up", follow_up_id)


def show_rollback(mission_id: str) -> str:
    """Show a mission's whole rollback."""
    return _line("rollback", "show", mission_id)


def resolve_parked(obligation_id: str, decision: str, note: str = "") -> str:
    """Decide on a parked obligation: retry, cancelled or accept; `note` is a placeholder text."""
    noted = f" --note <{note}>" if note else ""
    return f"{_line('rollback', 'resolve', obligation_id, decision)}{noted}"


def start_worker(task_queue: str, build: str = "") -> str:
    """Start a worker of a task queue, and of a build that its own settings may not name."""
    of_build = f"ORCHESTRATOR_BUILD_ID={shlex.quote(build)} " if build else ""
    return f"{of_build}ORCHESTRATOR_TASK_QUEUE={shlex.quote(task_queue)} {_line('worker')}"


def set_current(deployment: str, build: str) -> str:
    """Route new missions to a build, with Temporal's own command line."""
    named = f"--deployment-name {shlex.quote(deployment)} --build-id {shlex.quote(build)}"
    return f"temporal worker deployment set-current-version {named} --yes"


def _line(*words: str) -> str:
    return shlex.join(["orchestrator", *words])
