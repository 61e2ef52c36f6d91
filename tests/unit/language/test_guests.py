"""Whom an order adds to what it makes."""

import pytest

from orchestrator.language.clauses import split_clauses
from orchestrator.language.guests import guests_span


@pytest.mark.parametrize(
    ("clause", "rest"),
    [
        ("add a review and invite ana@example.com and bo@example.com", "add a review"),
        ("add a review, and please invite Ana", "add a review"),
        ("plan dinner with Bo and invite him at bo@example.com", "plan dinner with Bo"),
        ("set up a call tomorrow, inviting ana@example.com", "set up a call tomorrow"),
        ("add a review and add ana@example.com as a guest", "add a review"),
    ],
)
def test_whom_to_invite_is_of_the_order_before_it(clause: str, rest: str) -> None:
    """Whatever a tool of that name would do, nothing says to what else."""
    span = guests_span(clause)

    assert split_clauses(clause, verbs={"invite"}) == (clause,)
    assert span is not None
    assert clause[: span[0]] == rest


@pytest.mark.parametrize(
    "clause",
    [
        "invite ana@example.com",
        "add a review and invite ana@example.com to the club",
        "add bread and add butter",
    ],
)
def test_an_invitation_to_something_else_is_an_order_of_its_own(clause: str) -> None:
    """As is one that begins the clause."""
    assert guests_span(clause) is None
