"""Texts composed from clauses."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.intent import Action, IntentFrame
from orchestrator.planning.models import AgentProfile, AskUser, StepContext
from orchestrator.planning.rules.chaining import decide
from orchestrator.planning.rules.text_sources import (
    clause_title,
    object_phrase,
    thing_title,
    told_text,
)
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.routing.selection import Selection

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "generic", "topic_first", "phrase"),
    [
        ("message my team about it", "messages find channels", False, "team"),
        ("find the files about the budget", "files find", True, "budget"),
        ("move the budget file to the Archive folder", "files find", False, "budget"),
        ("share the latest with anna@example.com", "files", False, ""),
        ('reserve the book "Dune" for 3 weeks', "books search", False, "Dune"),
    ],
)
def test_object_phrase_is_what_a_search_would_take(
    text: str, generic: str, topic_first: bool, phrase: str
) -> None:
    """Verbs, articles, values and words that every answer bears are left out."""
    utterance = read_utterance(text, now=NOW)

    assert object_phrase(utterance, generic=generic.split(), topic_first=topic_first) == phrase


@pytest.mark.parametrize(
    ("goal", "asked"),
    [
        ("files bigger than 1 MB", "Nothing here speaks of 'bigger'"),
        ("images in the Archive folder", "query"),
        ("which files were changed this week", "query"),
    ],
)
def test_what_says_how_things_are_is_nothing_to_search_for(
    goal: str, asked: str, shipped: Catalog
) -> None:
    """Nothing would be found that has these words in it, though there may be such things."""
    context = StepContext(
        mission_id="m",
        leg_id="1-files",
        step=0,
        mission_goal=goal,
        leg_goal=goal,
        agent=AgentProfile(name="files"),
        now=NOW,
        catalog_digest=shipped.digest,
    )
    selection = Selection(
        tools=("file_find_files",),
        band="crisp",
        k=1,
        reason="test",
        frame=IntentFrame(action=Action.SEARCH),
        catalog_size=1,
    )

    step = decide(context, selection, shipped)

    assert isinstance(step, AskUser)
    assert asked in step.question


def test_told_text_is_what_follows_that_or_a_colon() -> None:
    """What is to be said to somebody is spelled out in the clause, or it is not."""
    assert told_text(read_utterance("tell my team that I am late", now=NOW)) == "I am late"
    quoted = read_utterance("message the team 'the word of the day is \"no\"'", now=NOW)
    assert told_text(quoted) == 'the word of the day is "no"'
    named = read_utterance('email a@b.co, subject "Leave", to say I am off', now=NOW)
    assert told_text(named) == "I am off"
    assert told_text(read_utterance('message Anna "See you soon"', now=NOW)) == "See you soon"
    assert told_text(read_utterance("message my team about that", now=NOW)) == ""
    assert told_text(read_utterance("send a note to Ana saying hello", now=NOW)) == "hello"
    assert told_text(read_utterance("after that send the team the name of it", now=NOW)) == ""


def test_whom_to_invite_is_no_part_of_a_title(shipped: Catalog) -> None:
    """It goes into an input of its own, or is asked about."""
    utterance = read_utterance("put a review tomorrow and invite ana@example.com", now=NOW)

    assert thing_title(utterance, shipped.tool("calendar_create_event")) == "Review"


def test_clause_becomes_a_title() -> None:
    """The verb and the articles before its object go."""
    assert clause_title("please rent a compact car in Lisbon") == "Compact car in Lisbon"


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        ("send an email to jo@example.com", "text"),
        ("write an email to a@b.example", "text"),
        ("upload plan.txt to Reports", "content_text"),
        ("upload plan.txt to the reports drive", "content_text"),
    ],
)
async def test_an_addressee_is_not_what_is_written(mission: Any, goal: str, text: str) -> None:
    """Nor where a thing goes; where nobody said what to write, it is asked."""
    run = await mission.run(goal)

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert list(asked.fields) == [text]


async def test_what_it_is_about_is_written_to_whom_it_is_for(mission: Any) -> None:
    """The address says whom, the rest of the clause what."""
    run = await mission.run("email heat@example.com to turn on the heating")

    (sent,) = run.calls(run.plan.legs[0].leg_id)
    assert sent.arguments["text"] == "Turn on the heating"


async def test_a_file_is_stored_under_its_name_with_what_it_says(mission: Any) -> None:
    """A name with an ending is the file's; "with the text" begins what is in it."""
    run = await mission.run("upload a note called todo.txt with the text buy stamps")

    (stored,) = run.calls(run.plan.legs[0].leg_id)
    assert stored.arguments["file_name"] == "todo.txt"
    assert stored.arguments["content_text"] == "buy stamps"


async def test_a_file_is_looked_for_by_what_it_holds(mission: Any) -> None:
    """What it holds stands behind "with"."""
    run = await mission.run("find the file with the meeting notes")

    (found,) = run.calls(run.plan.legs[0].leg_id)
    assert found.arguments["query"] == "meeting notes"


@pytest.mark.parametrize(
    ("clause", "title"),
    [
        ("put lunch with Maria on 2026-12-02 at 13:00 in my calendar", "Lunch with Maria"),
        ("Two hour workshop in my calendar next Tuesday at 14:00", "Workshop"),
        ("book a 30 minute call with Bo on Friday at 10", "Call with Bo"),
        ("schedule a review of 3 papers for tomorrow at noon", "Review of 3 papers"),
        (
            "create a meeting about the budget on Monday in room 4",
            "Meeting about the budget in room 4",
        ),
    ],
)
def test_a_title_is_what_is_made_and_not_when(clause: str, title: str, shipped: Catalog) -> None:
    """Days, times and lengths go into inputs of their own; what the tool says, it says."""
    utterance = read_utterance(clause, now=NOW)

    assert thing_title(utterance, shipped.tool("calendar_create_event")) == title


async def test_an_optional_id_that_is_spoken_of_is_looked_for(mission: Any) -> None:
    """Left out, the file would land elsewhere; not spoken of, nobody looks for it."""
    named = await mission.run('upload a.txt with the text "hi" to the Reports folder')
    plain = await mission.run('upload a.txt with the text "hi"')

    assert "file_list_folders" in named.names(named.plan.legs[0].leg_id)
    assert "file_list_folders" not in plain.names(plain.plan.legs[0].leg_id)


async def test_what_somebody_is_to_do_is_not_what_was_done_before(mission: Any) -> None:
    """Unless it points at that."""
    run = await mission.run(
        "email jo@example.com that the car is here, then remind me tomorrow at 18:00 to pack"
    )

    assert run.calls(run.plan.legs[1].leg_id)[0].arguments["reminder_text"] == "Pack"


async def test_what_was_looked_up_is_told_with_its_values(mission: Any) -> None:
    """Not only that it was: who gets the message has no other way to know."""
    run = await mission.run(
        "find the cheapest flight from Berlin to Lisbon on 2026-12-03 and email the result to "
        "jo@example.com"
    )

    text = run.calls(run.plan.legs[1].leg_id)[0].arguments["text"]
    assert "flight" in text.lower()
    assert "EUR" in text


@pytest.mark.parametrize("thing", ["the price", "what it costs", "its class"])
async def test_who_is_told_a_thing_learns_it_from_what_was_done(mission: Any, thing: str) -> None:
    """In a message with what the booking answered, and not in those words."""
    goal = "rent the cheapest car in Porto from 2026-12-03 to 2026-12-06 and tell jo@acme.io "
    run = await mission.run(goal + thing)

    text = run.calls(run.plan.legs[1].leg_id)[0].arguments["text"]
    assert "EUR" in text
    assert thing not in text


@pytest.mark.parametrize("thing", ["the seat", "the address of the new office"])
async def test_nobody_is_told_what_nothing_tells(mission: Any, thing: str) -> None:
    """What the message says is asked for."""
    goal = "rent the cheapest car in Porto from 2026-12-03 to 2026-12-06 and tell jo@acme.io "
    run = await mission.run(goal + thing)

    assert "message_send_email" not in run.names(run.plan.legs[-1].leg_id)
