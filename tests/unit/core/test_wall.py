"""What is inside the wall of an agent, and what it is told of the rest."""

import pytest

from orchestrator.core.wall import Wall, admitted

OFFICE = Wall(agent="office", domains=("messages",), tools=("calendar_get_event", "file_get_*"))


@pytest.mark.parametrize(
    ("tool", "domain", "is_inside"),
    [
        ("message_send", "messages", True),
        ("calendar_get_event", "calendar", True),
        ("calendar_create_event", "calendar", False),
        ("file_get_file", "files", True),
        ("file_delete_file", "files", False),
        ("not_file_get_file", "files", False),
        ("calendar_get_event_2", "calendar", False),
        ("calendar_get_event\n", "calendar", False),
        ("message_send", "Messages", False),
        ("Calendar_get_event", "calendar", False),
        ("messages", "flights", False),
        ("flight_book_offer", "", False),
    ],
)
def test_a_tool_is_inside_by_domain_or_name(tool: str, domain: str, is_inside: bool) -> None:
    """Either is enough, all of it counts, and so does case."""
    assert OFFICE.admits(tool, domain) is is_inside


@pytest.mark.parametrize("pattern", ["[a-z]*", "[!x]*", "file_[gf]et", ".*", "%"])
def test_only_star_and_question_mark_stand_for_more(pattern: str) -> None:
    """What is a pattern elsewhere is a name here, which no tool has."""
    assert not Wall(agent="a", tools=(pattern,)).admits("file_get", "files")
    assert not Wall(agent="a", tools=("*a" * 200 + "b",)).admits("a" * 5_000, "d")


def test_a_tool_must_be_inside_every_wall() -> None:
    """Two that share nothing leave nothing; one that lists nothing admits all."""
    narrow = Wall(agent="office", tools=("file_*",))

    assert admitted((OFFICE, narrow), "file_get_file", "files")
    assert not admitted((OFFICE, narrow), "message_send", "messages")
    assert not admitted((OFFICE, narrow), "file_delete_file", "files")
    assert admitted((), "file_delete_file", "files")
    assert Wall(agent="a").admits("anything", "anywhere")


def test_a_refusal_names_tool_agent_and_what_is_allowed() -> None:
    wide = Wall(agent="a", domains=tuple(f"d{n}" for n in range(100)))

    assert OFFICE.refusal("flight_cancel_booking") == (
        "flight_cancel_booking is not for the agent office, whose profile allows only the domains "
        "messages and the tools calendar_get_event, file_get_*; nothing was sent: do without it"
    )
    assert "d5 and 94 more" in wide.refusal("x")
    assert len(wide.refusal("x")) < 200
