"""What the Temporal UI draws as Markdown, made of the worst that providers and planners write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import workflows.ui
from orchestrator.confirmation.markdown import as_markdown
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.leg import LegInput, LegWaiting
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.rollback import RollbackInput, RollbackReport

Make = Callable[[Any], Any]

MAKERS: dict[str, Callable[[Make], str]] = {
    "mission_details": lambda make: workflows.ui.mission_details(make(MissionResult)),
    "leg_details": lambda make: workflows.ui.leg_details(make(LegInput), make(LegWaiting)),
    "rollback_details": lambda make: workflows.ui.rollback_details(
        "undoing", make(str), make(RollbackReport)
    ),
    "summary": lambda make: workflows.ui.summary("undo {tool}", tool=make(str)),
    "as_markdown": lambda make: as_markdown(make(ConfirmationCard)),
    "RollbackInput.summary": lambda make: make(RollbackInput).summary,
}

_CODE = re.compile(r"(?<!\\)`[^`\n]+`")
"""In which nothing is markup."""
_MARKUP = re.compile(
    r"(?<!\\)(<img|!?\[z\]|\[link|\*\*b|`c|\||&#|https?:/)"  # in a line
    r"|^\s*(# Price|Price 1 EUR)",  # at its beginning
    re.MULTILINE,
)


@pytest.mark.parametrize("name", MAKERS)
def test_markdown_holds_no_markup_of_others(
    name: str, hostile: Make, hidden: Callable[[str], list[str]]
) -> None:
    """No link, image, HTML, heading, table, hidden character or line of a provider's own."""
    shown = MAKERS[name](hostile)

    assert "Price 1 EUR" in shown or name == "summary"
    assert hidden(shown) == []
    assert _MARKUP.findall(_CODE.sub("", shown)) == []


def test_every_maker_of_markdown_is_tried() -> None:
    """A new function of ui.py that gives Markdown has to be added above."""
    made = {
        name
        for name, value in vars(workflows.ui).items()
        if getattr(value, "__module__", "") == "workflows.ui"
        and not name.startswith("_")
        and getattr(value, "__annotations__", {}).get("return") in (str, "str")
    }

    assert made <= set(MAKERS)
