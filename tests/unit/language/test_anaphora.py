"""Words that point at what came before."""

import pytest

from orchestrator.language.anaphora import reference_in


@pytest.mark.parametrize(
    ("clause", "reference"),
    [
        ("book it", "it"),
        ("cancel that one", "that one"),
        ("the second one please", "the second one"),
        ("take the cheapest one", "the cheapest one"),
        ("delete both", "both"),
        ("try again", "try again"),
        ("retry", "retry"),
        ("do it again", "do it again"),
        ("pay the first", "the first"),
        ("send that to Bob", "that"),
        ("book a flight to Rome", ""),
        ("show the first flight", ""),
        ("find that hotel in Rome", ""),
        ("a hotel that has a pool", ""),
        ("wait a bit", ""),
    ],
)
def test_words_that_point_back_are_marked(clause: str, reference: str) -> None:
    """Pronouns and what stands for a noun; not a noun with its article, nor a relative clause."""
    assert reference_in(clause) == reference
