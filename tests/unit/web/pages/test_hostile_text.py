"""Text of providers, planners and people is data on every page, and none of a card is lost."""

import re
from html.parser import HTMLParser
from typing import Final

import pytest

from orchestrator.confirmation.card_content import CardLine
from orchestrator.core.shown_text import visible_block
from orchestrator.messages.open_waits import Waiting
from tests.unit.web.pages import samples
from tests.unit.web.pages.stand_ins import FakeClient, browser

PAGES: Final = (
    "/",
    "/cards/m.1-dinner.2-2",
    "/cards/m.1-dinner.2",
    "/review?card=m.1-dinner.2-2",
    "/questions/m.1-dinner.3",
    "/questions/m.hold.1",
    "/missions",
    "/missions/m",
    "/missions/m/rollback",
    "/parked",
    "/start?follow_up=m.1-dinner.2:1",
)


class Reader(HTMLParser):
    """Reads a page as a browser does: its text, and what could run or lead away."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self._texts: list[str] = []
        self.scripts: list[str | None] = []
        self.risky: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script":
            self.scripts.append(given.get("src"))
        self.risky += [name for name in given if name.startswith("on") or name == "style"]
        self.risky += [tag for name in ("img", "style", "iframe", "object") if tag == name]
        self.risky += [str(v) for n, v in attrs if n in ("href", "src") and not _is_own(str(v))]
        self._texts += [str(value) for name, value in attrs if name == "value"]

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def text(self) -> str:
        """All text of the page and of its fields, blanks made equal."""
        return _even(" ".join(self._texts))

    def misses(self, *said: str) -> list[str]:
        """The texts that are not on the page."""
        text = self.text
        return [one for one in said if one and _even(visible_block(one)) not in text]


def _is_own(address: str) -> bool:
    return address == "" or (address[0] in "/#?" and not address.startswith("//"))


def _even(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def stand_in() -> FakeClient:
    return FakeClient(
        waiting=samples.WAITING,
        results=[samples.RESULT],
        missions=[samples.MISSION],
        parked=[samples.PARKED],
        report=samples.REPORT,
        preview=samples.PREVIEW,
        plan=samples.PLAN,
    )


async def read(path: str, client: FakeClient | None = None) -> Reader:
    async with browser(client or stand_in()) as pages:
        answer = await pages.get(path)
    assert answer.status_code == 200
    return Reader(answer.text)


@pytest.mark.parametrize("path", PAGES)
async def test_nothing_of_a_text_becomes_markup(path: str) -> None:
    """Only our own script runs, and no attribute, address or direction comes from a text."""
    async with browser(stand_in()) as pages:
        answer = await pages.get(path)
    found = Reader(answer.text)

    assert answer.status_code == 200
    assert found.scripts == ["/static/pages.js"]
    assert found.risky == []
    assert "{{ 7*7 }}" in found.text
    assert "\x1b" not in answer.text
    assert "\u202e" not in answer.text


async def test_a_plan_is_escaped_too() -> None:
    """The plan of a goal is shown, with all that the planner said."""
    async with browser(stand_in()) as pages:
        answer = await pages.post("/start", data={"goal": "a trip", "action": "plan"})
    found = Reader(answer.text)
    shown = ("uncovered", "serves", "goal", "leg", "input", "agent", "clause", "title")

    assert answer.status_code == 200
    assert found.risky == []
    assert len(found.scripts) == 1
    assert len([t for t in samples.texts_of(samples.PLAN) if t.startswith(shown)]) >= 8
    for text in samples.texts_of(samples.PLAN):
        assert not text.startswith(("uncovered", "serves", "goal")) or not found.misses(text)


@pytest.mark.parametrize("path", ["/cards/m.1-dinner.2-2", "/review?card=m.1-dinner.2-2"])
async def test_no_line_of_a_card_is_lost(path: str) -> None:
    """Sections, warnings, changes, terms, oversight and folded inputs: all are on the page."""
    (card,) = samples.WAITING.cards
    found = await read(path)
    sections = [line for part in card.sections() for line in part.lines]
    lines = [*sections, *card.purpose(), *card.oversight(), *card.other_inputs]
    said = [text for one in lines for text in (one.label, one.value)]
    said += [*card.warnings, card.unordered, card.asked_because, card.cancellation, card.title]
    said += [text for change in card.changes for text in (change.label, change.before, change.now)]
    said += [part.title for part in card.sections()]
    said += [str(card.price), card.heading, card.digest]

    assert found.misses(*said) == []
    assert len(said) > 40


async def test_the_line_of_what_nobody_ordered_comes_first() -> None:
    """A person reads it before every warning and every line of the call."""
    (card,) = samples.WAITING.cards
    text = (await read("/cards/m.1-dinner.2-2")).text
    first = text.index(_even(visible_block(card.unordered)))
    later = [*card.warnings, *(line.value for part in card.sections() for line in part.lines)]

    assert all(first < text.index(_even(visible_block(one))) for one in later)


async def test_long_texts_are_whole() -> None:
    long = "x" * 20_000 + "end"
    card = samples.hostile_card(reason=long, lines=(CardLine(label="l", value=long),))
    found = await read("/cards/m.1-dinner.2-2", FakeClient(waiting=Waiting(cards=(card,))))

    assert found.text.count(long) == 2


async def test_every_text_of_a_question_is_shown() -> None:
    """Question, reason, consequence, labels, choices; personal fields by name."""
    found = await read("/questions/m.1-dinner.3")
    said = [samples.QUESTION.question, samples.QUESTION.why, samples.QUESTION.otherwise]
    for one in samples.QUESTION.asks:
        said += [one.label, one.about, *(choice.label for choice in one.choices)]

    assert found.misses(*said) == []
    assert "orchestrator pii traveler_id" in found.text


async def test_a_hold_shows_what_stands_and_what_cancelling_costs() -> None:
    """The error, each effect with its fee, the failed call, and what follows without an answer."""
    hold = samples.HELD.hold
    assert hold is not None
    assert hold.failed is not None
    found = await read("/questions/m.hold.1")
    said = [hold.error, samples.HELD.otherwise, hold.failed.tool]
    said += [one.title for one in hold.standing] + [str(one.fee) for one in hold.standing]
    assert found.misses(*said, *map(str, hold.failed.arguments.values())) == []


async def test_every_effect_of_a_mission_is_shown() -> None:
    """Ledger with notes and references, legs, follow-up actions, errors."""
    found = await read("/missions/m")
    said = [samples.RESULT.goal, samples.RESULT.summary, samples.RESULT.error or ""]
    for effect in samples.LEDGER.obligations:
        assert isinstance(effect.response, dict)
        said += [effect.title, effect.note, str(effect.response["reservation_id"])]
    said += [samples.FOLLOW_UP.title, samples.RESULT.legs[0].goal]
    assert found.misses(*said) == []
