"""Values as a person says them."""

import pytest

from orchestrator.planning.rules.telling.spoken_values import said_length


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("PT2H20M", "2 hours 20 minutes"),
        ("P2Y", "2 years"),
        ("P1D", "1 day"),
        ("as agreed", "as agreed"),
    ],
)
def test_lengths_are_told_in_words(written: str, said: str) -> None:
    """What is no length is told as it is."""
    assert said_length(written) == said
