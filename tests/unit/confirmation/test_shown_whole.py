"""What is sent stands on its card, every word of it: nobody approves what they have not read."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.confirmation.build import CardContext, build_card
from orchestrator.confirmation.card_facts import LONGEST_SENT
from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject
from tests.fakes import fake_tool

_NAMES = st.sampled_from(
    [
        "to", "amount", "currency", "price", "total", "body", "note", "items", "name", "title",
        "quantity", "id", "file_id", "cc", "date", "recipients", "recipient", "account",
        "description", "count", "label", "value", "client_reference",
    ]
)  # fmt: skip
_WORDS = st.integers(10**9, 10**10).map(lambda number: f"word{number}")
_VALUES = st.recursive(
    _WORDS | st.just(12.5) | st.just("EUR"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_TYPES = (
    "structured-confirmation",
    "structured-payment",
    "structured-message",
    "structured-order",
    "structured-reservation",
)


def _card(arguments: JsonObject, card_type: str) -> ConfirmationCard:
    tool = fake_tool("act", card_type=card_type, input_schema={"type": "object"})
    call = CallRef(mission_id="m", leg_id="l", call_id="m.l.1", tool="act", catalog_digest="d")
    context = CardContext(goal="do it")
    return build_card(call, tool, arguments, quoted=[], expires_at=None, context=context)


def _words(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str) and value.startswith("word"):
        yield value


@settings(max_examples=120, deadline=None)
@example({"to": {"currency": "EUR", "amount": 12.5, "price": "word1000000000"}}, _TYPES[0])
@example({"to": [{"currency": "EUR", "amount": 12.5, "to": "word1000000000"}]}, _TYPES[0])
@given(st.dictionaries(_NAMES, _VALUES, max_size=6), st.sampled_from(_TYPES))
def test_every_word_that_is_sent_is_on_its_card(arguments: JsonObject, card_type: str) -> None:
    """However it is nested, whatever it is called, beside whatever amounts."""
    shown = as_markdown(_card(arguments, card_type))

    assert [word for word in _words(arguments) if word not in shown] == []


@pytest.mark.parametrize("card_type", _TYPES)
def test_the_last_of_many_is_shown_like_the_first(card_type: str) -> None:
    """A recipient behind thirty others, the end of a long subject, the fortieth input."""
    many: JsonObject = {f"input_{n}": f"word{n}x" for n in range(40)}
    recipients: JsonValue = [f"word{n}z" for n in range(40)]
    arguments = many | {"recipients": recipients, "subject": "x " * 500 + "word99y"}
    shown = as_markdown(_card(arguments, card_type))

    assert [word for word in _words(list(arguments.values())) if word not in shown] == []
    assert "word99y" in shown


def test_what_is_longer_than_a_card_is_said_to_be() -> None:
    card = _card({"body": "x" * LONGEST_SENT + "y" * 10}, "structured-message")

    assert "10 characters of it are not shown here" in card.warnings[0]
    assert "confirm show --json" in card.warnings[0]
    assert not _card({"body": "x" * LONGEST_SENT}, "structured-message").warnings
    many: JsonObject = {f"input_{n}": n for n in range(201)}
    assert "it has 201 inputs" in _card(many, "structured-message").warnings[0]
