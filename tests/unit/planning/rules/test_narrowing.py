"""Which of the found things a clause means."""

from datetime import UTC, datetime

from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.narrowing import narrowed
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
CHANNELS = [Item({"name": name}, frozenset({"name"})) for name in ("team", "travel")]


def test_what_is_sent_names_none_of_them() -> None:
    """A person is told that no kitchen was found, and not that no lunch was."""
    text = "post 'lunch is here' in the kitchen channel"
    known = frozenset({"channel", "post"})

    found = narrowed(CHANNELS, read_utterance(text, now=NOW), used={}, known=known, text=text)

    assert found.unread == ("kitchen",)
    assert found.items == tuple(CHANNELS)
