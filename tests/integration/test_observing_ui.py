"""What docs/observing.md promises: its filters on a real server, and pages as the UI draws them."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata

from orchestrator.client.mission_client import MissionClient
from orchestrator.core.shown_text import markdown_text
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.devserver import Stack
from orchestrator.testing import eventually
from tests.screenshots.scenes import Scenes

if TYPE_CHECKING:
    from tests.integration.conftest import Witness

_PAGE: Final = Path(__file__).parents[2] / "docs" / "observing.md"
_FILTER: Final = re.compile(r"^\| (?P<shows>[^|`]+) \| `(?P<query>[^`]+)` \|$", re.MULTILINE)
FILTERS: Final = {
    m["shows"]: m["query"]
    for m in _FILTER.finditer(_PAGE.read_text(encoding="utf-8").partition("## Filters")[2])
}

FOUND: Final = {
    "missions that wait for a person": {"lisbon-trip", "which-flight"},
    "missions with an undecided card": {"lisbon-trip"},
    "missions with an undecided card of one tool": {"lisbon-trip"},
    "missions with an unanswered question": {"which-flight"},
    "what an operator has to resolve": {"dinner-parked.rollback", "trip-rolls-back.rollback"},
    "rollbacks that hold one tool's obligations": {"trip-rolls-back.rollback"},
    "rollbacks that still wait for a provider": {"trip-rolls-back.rollback"},
    "missions that are being rolled back": {"trip-rolls-back"},
    "missions that were rolled back": {"dinner-refused"},
    "missions that left something to an operator": {"dinner-parked"},
    "missions that succeeded": {"team-dinner", "tried-out"},
    "what one person asked for": {
        *("lisbon-trip", "which-flight", "dinner-parked", "trip-rolls-back", "dinner-refused"),
        *("no-table", "dinner-cancelled", "team-dinner", "only-said", "tried-out"),
    },
    "running missions with a leg of one agent": {"lisbon-trip"},
    "what is observed, not guarded": {"tried-out"},
    "a mission and its rollback": {"lisbon-trip"},
}


def test_every_documented_filter_is_tried() -> None:
    """A filter that is added to the page, or taken from it, has to be here too."""
    assert set(FILTERS) == set(FOUND)


@pytest.mark.timeout(400)
async def test_each_documented_filter_finds_what_it_says(
    stack: Stack, client: MissionClient, sandbox: Witness
) -> None:
    """Missions in each state at once, told apart by the filters of docs/observing.md alone."""
    scenes = Scenes(client, sandbox, stack.settings)
    ours = await asyncio.gather(
        scenes.succeeded(),
        scenes.rolled_back(),
        scenes.left_to_rollback(),
        scenes.failed(),
        scenes.cancelled(),
        scenes.incomplete(),
        scenes.waits_for_answer(),
        scenes.waits_for_confirmation(),
        scenes.rolls_back(),
        scenes.observed(),
    )

    async def found(query: str) -> set[str]:
        every = [one.id async for one in client.temporal.list_workflows(query)]
        return {one for one in every if names.mission_of(one) in ours}

    for shows, query in FILTERS.items():

        async def as_it_says(shows: str = shows, query: str = query) -> bool:
            return await found(query) == FOUND[shows]

        try:
            await eventually(as_it_says)
        except TimeoutError:
            raise AssertionError(f"{shows}: {query} finds {await found(query)}") from None


# -- as the UI draws it ---------------------------------------------------------------------------

HOSTILE: Final = (
    "Reserve a table </p><img src=https://evil.example/x.png> ![y](https://evil.example/y.png) "
    "[pay](https://evil.example) [pay](javascript:alert(1)) <a href=//evil.example>x</a> "
    "https://evil.example www.evil.example mailto:eve@evil.example {namespace} `rm -rf` **b**"
)


class _Drawn(HTMLParser):
    """The links, pictures and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.others: list[str] = []
        self.text = ""
        self.feed(html.partition("<main>")[2].partition("</main>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")
        elif tag not in ("p", "ul", "li", "h3", "strong", "code", "br"):
            self.others.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


async def drawn(stack: Stack, markdown: str) -> _Drawn:
    """A text as the Temporal UI renders it."""
    async with httpx.AsyncClient(base_url=stack.ui_url) as ui:
        answer = await ui.get("/render", params={"content": markdown, "theme": "light"})
    assert answer.status_code == 200
    return _Drawn(answer.text)


async def test_hostile_text_is_only_text_in_the_ui(stack: Stack, client: MissionClient) -> None:
    """A goal full of links, pictures and HTML: the page's own links, and no other element.

    So it is while the mission asks about its plan, and while its leg asks somebody.
    """
    mission = await client.start(MissionRequest(goal=HOSTILE, requester="eve <b> mailto:e@evil.x"))
    (about_plan,) = await eventually(mission.questions)
    of_mission = await _safely_drawn(stack, client, mission.mission_id)

    await mission.answer(about_plan.question_id, {"answer": "go on"})

    async def leg_asks() -> bool:
        return bool(await mission.questions() or await mission.confirmations())

    await eventually(leg_asks)
    await _safely_drawn(stack, client, mission.mission_id)
    await mission.cancel()

    assert "what of its goal is in doubt is asked about" in of_mission.text


async def _safely_drawn(stack: Stack, client: MissionClient, workflow_id: str) -> _Drawn:
    """The page of a workflow about that goal: its text is there, as text."""
    handle = client.temporal.get_workflow_handle(workflow_id)
    shown = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    page = await drawn(stack, shown.current_details)

    assert page.others == []
    assert {link.partition("/workflows/")[0] for link in page.links} <= {"namespaces/{namespace}"}
    assert "<img src=https://evil.example/x.png>" in page.text
    return page


@pytest.mark.parametrize(
    "text", [HOSTILE, "ann@example.com", "10:30, 1.00 EUR", "a_b_c", "x\\y", "- 1. # a | b"]
)
async def test_the_ui_shows_text_as_it_was_written(stack: Stack, text: str) -> None:
    """No backslash of ours is seen, and nothing of the text is missing."""
    page = await drawn(stack, f"before {markdown_text(text)} after")

    assert page.text.strip() == f"before {text} after"
    assert page.links == []
