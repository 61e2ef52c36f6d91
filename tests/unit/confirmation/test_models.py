"""What an approval is bound to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.confirmation.models import call_digest
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject

CARD = "structured-order"
CALL = CallRef(call_id="m.l.1", mission_id="m", leg_id="l", tool="book", catalog_digest="c")
texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | texts
objects = st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=5)


def digest(arguments: JsonObject, *, call: CallRef = CALL, card_type: str = CARD) -> str:
    return call_digest(call, arguments=arguments, card_type=card_type)


@given(objects)
def test_the_order_of_arguments_does_not_matter(arguments: JsonObject) -> None:
    """The same arguments in another order have the same digest."""
    turned = dict(reversed(arguments.items()))

    assert digest(arguments) == digest(turned)


@given(objects, objects)
def test_other_arguments_have_another_digest(one: JsonObject, other: JsonObject) -> None:
    """A digest tells arguments apart whenever they differ as JSON."""
    same = digest(one) == digest(other)

    assert same == (_typed(one) == _typed(other))


def _typed(value: object) -> object:
    """The value with True told from 1, which Python calls equal and JSON does not."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value


@pytest.mark.parametrize("part", ["tool", "catalog_digest", "call_id"])
def test_every_part_of_a_call_is_covered(part: str) -> None:
    other = CALL.model_copy(update={part: "something else"})

    assert digest({}) != digest({}, call=other)


def test_the_card_type_is_covered() -> None:
    """What is approved is what was shown."""
    assert digest({}) != digest({}, card_type="structured-payment")
