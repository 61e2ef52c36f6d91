"""What the Temporal UI draws as Markdown, made of the worst that providers and planners write."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages.leg import LegWaiting
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackInput, RollbackReport, RollbackStatus
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.workflows.mission_page import MissionPage
from orchestrator.workflows.rollback_page import RollbackPage

ROOT = Path(__file__).parents[3]
Make = Callable[[Any], Any]

MAKERS: dict[str, Callable[[Make], str]] = {
    "mission_page": lambda make: _mission_page(make, MissionStatus.RUNNING),
    "mission_page, over": lambda make: _mission_page(make, MissionStatus.PARKED),
    "rollback_page": lambda make: RollbackPage(
        RollbackStatus.PARKED, make(RollbackReport)
    ).markdown(),
    "rollback_page, parked": lambda make: RollbackPage(
        RollbackStatus.PARKED, _parked(make(RollbackReport))
    ).markdown(),
    "summary": lambda make: markdown_summary(f"undo {make(str)}"),
    "as_markdown": lambda make: as_markdown(make(ConfirmationCard)),
    "RollbackInput.summary": lambda make: make(RollbackInput).summary,
}


def _mission_page(make: Make, status: MissionStatus) -> str:
    mission = make(MissionResult).model_copy(update={"status": status})
    waiting = {leg.leg_id: make(LegWaiting) for leg in mission.legs}
    return MissionPage(mission, waiting=waiting).markdown()


def _parked(report: RollbackReport) -> RollbackReport:
    (one,) = report.ledger.obligations
    parked = one.model_copy(update={"state": ObligationState.PARKED})
    return report.model_copy(update={"ledger": Ledger(obligations=(parked,))})


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


@pytest.mark.parametrize("path", sorted(ROOT.glob("workflows/*.py")), ids=lambda path: path.stem)
def test_no_summary_takes_a_text_as_it_is(path: Path) -> None:
    """What a summary names is escaped by `markdown_summary`."""
    summaries = [
        given.value
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for given in call.keywords
        if (given.arg or "").endswith("summary")
    ]

    assert not [ast.unparse(one) for one in summaries if isinstance(one, ast.JoinedStr)]
