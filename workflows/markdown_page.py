"""Links, lists and lines of Markdown, for the pages of missions and rollbacks.

The Temporal UI renders them in half the width of its window, keeps each line end of a paragraph,
and renders lists of one level. All text of others passes `markdown_text` or `markdown_code`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core import command_lines
    from orchestrator.core.budget import Money, Spend
    from orchestrator.core.pii import is_handle
    from orchestrator.core.record import JsonObject
    from orchestrator.core.shown_text import markdown_code, markdown_text
    from orchestrator.messages.receipts import reference_of
    from orchestrator.planning.models import AnswerTable
    from orchestrator.saga.obligation import Obligation, ObligationState

command = markdown_code
"""Format a command to be typed, or a name of one word."""
_LONGEST_PAGE = 60_000
"""Characters of a page; the UI sends it to its renderer in a URL, where a megabyte is too long."""
_LONGEST_TEXT = 500
_MOST_LINES = 60


def page(lines: Iterable[str], *, mission_id: str) -> str:
    """Join the lines to one page; a page that is too long ends with a command for the rest."""
    kept: list[str] = []
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > _LONGEST_PAGE:
            rest = markdown_code(command_lines.show_mission(mission_id))
            return "\n".join([*kept, "", f"**This page ends here**: {rest} shows all."])
        kept.append(line)
    return "\n".join(kept)


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines under a heading, with a count of the lines cut; nothing without lines."""
    if not lines:
        return []
    rest = len(lines) - _MOST_LINES
    more = [f"- and {rest} more"] if rest > 0 else []
    return ["", f"### {title}", "", *lines[:_MOST_LINES], *more]


def table_lines(table: AnswerTable | None) -> list[str]:
    """Return a table as a list: its headings, then a line for each row."""
    if table is None:
        return []
    rows = [f"- {text(' | '.join(row))}" for row in table.rows]
    more = [f"- and {table.more} more"] if table.more else []
    return [f"- {text(' | '.join(table.columns))}", *rows, *more]


def link(text: str, workflow_id: str) -> str:
    """Return a link to another workflow's page, independent of the UI's address.

    The UI fills in the namespace. The link is relative: the UI renders the page under its own root.
    """
    return (
        f"[{markdown_text(text)}](namespaces/{{namespace}}/workflows/{quote(workflow_id, safe='')})"
    )


def text(written: str) -> str:
    """Return text of others on one line, cut to the maximum length."""
    cut = written if len(written) <= _LONGEST_TEXT else f"{written[:_LONGEST_TEXT]}…"
    return markdown_text(cut)


def moment(at: datetime) -> str:
    """Format a point in time, to the second, with its zone."""
    return f"{at:%Y-%m-%d %H:%M:%S %Z}".strip()


def spent(spend: Spend, budget: Money | None) -> str:
    """Format the spending, against the budget if there is one."""
    return f"spent {spend}, no budget" if budget is None else f"spent {spend} of {budget}"


def obligation_line(obligation: Obligation) -> str:
    """Format a ledger entry: title, state, cost, and the provider's identifiers."""
    is_void = obligation.state is ObligationState.VOID  # the provider never had it
    named = "" if is_void else provider_names(obligation)
    parts = [
        f"**{obligation.state}** {text(obligation.title or obligation.tool)}",
        command(obligation.tool),
        *([str(obligation.price)] if obligation.price is not None else []),
        *([f"at the provider {named}"] if named else []),
        *([f"approved by {text(by)}"] if (by := obligation.confirmed_by) else []),
    ]
    note = f" → {text(obligation.note)}" if obligation.note else ""
    return f"- {', '.join(parts)}{note}"


def provider_names(obligation: Obligation) -> str:
    """Return the provider's identifiers of an obligation."""
    return references(reference_of(obligation))


def references(named: JsonObject) -> str:
    """Format identifiers with their names, without values from the vault."""
    shown = [
        f"{text(name)} {markdown_code(str(value)[:_LONGEST_TEXT])}"
        for name, value in named.items()
        if not is_handle(value)
    ]
    return ", ".join(shown[:6])
