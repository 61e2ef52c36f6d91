"""Values out of answers."""

from datetime import UTC, datetime

from orchestrator.language.words import stem
from orchestrator.planning.rules.found_call import names_beside
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def test_names_beside_a_noun_are_what_the_thing_is_called() -> None:
    """The word beside the noun names the thing; a place it is in does not."""
    utterance = read_utterance("move it to the Archive folder in Lisbon", now=NOW)

    assert names_beside(frozenset({stem("folder")}), utterance) == ["Archive"]
    assert names_beside(frozenset({stem("file")}), utterance) == []
