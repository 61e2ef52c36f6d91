"""Who owes whom in a question."""

import pytest

from orchestrator.language.owing import is_still_owed, side_of, who_owes


@pytest.mark.parametrize(
    ("question", "side"),
    [
        ("what do we owe Acme", "us"),
        ("how much do I still have to pay", "us"),
        ("did we pay Acme", "us"),
        ("does Acme owe us anything", "them"),
        ("who owes us money", "them"),
        ("has Ana paid", "them"),
        ("is the invoice paid", None),
        ("which invoices are unpaid", None),
    ],
)
def test_the_subject_tells_who_has_to_pay(question: str, side: str | None) -> None:
    """And of what is paid by nobody nothing is told."""
    assert who_owes(question) == side


def test_what_was_paid_is_not_owed() -> None:
    """To have to pay is to owe."""
    assert is_still_owed("what does Bo owe us")
    assert is_still_owed("what do we have to pay this week")
    assert not is_still_owed("did Bo pay")


def test_a_list_tells_by_its_fields_who_pays() -> None:
    """A supplier is paid by us, a customer pays."""
    assert side_of(frozenset({"supplier", "amount"})) == "us"
    assert side_of(frozenset({"customer", "name"})) == "them"
    assert side_of(frozenset({"name"})) is None
