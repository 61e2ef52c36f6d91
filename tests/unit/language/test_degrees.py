"""Words of degree, and what a question compares."""

import pytest

from orchestrator.language.degrees import Degree, comparison_in, degrees_in


@pytest.mark.parametrize(
    ("question", "one", "other", "degree", "is_whether"),
    [
        ("Is the Otter heavier than the Heron?", "the Otter", "the Heron", Degree("mass", 1), True),
        ("is A less expensive than B", "A", "B", Degree("money", -1), True),
        ("does A cost more than B", "A", "B", Degree("money", 1), True),
        ("which is older, A or B?", "A", "B", Degree("moment", -1), False),
        ("is A or B cheaper", "A", "B", Degree("money", -1), False),
    ],
)
def test_two_things_are_compared(
    question: str, one: str, other: str, degree: Degree, is_whether: bool
) -> None:
    """By what the adjective, or the verb, measures."""
    found = comparison_in(question)

    assert found is not None
    assert (found.one, found.other, found.is_whether) == (one, other, is_whether)
    assert found.degrees[0] == degree


def test_what_is_no_comparison_of_two_is_none() -> None:
    """A bound, two places, a superlative."""
    assert comparison_in("files bigger than 1 MB") is None
    assert comparison_in("is it warmer in Rome than in Oslo") is None
    assert degrees_in("the lightest boat") == (Degree("mass", -1),)
    assert degrees_in("list the boats") == ()
