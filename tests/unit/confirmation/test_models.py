"""What an approval is bound to."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.confirmation.models import call_digest
from orchestrator.core.record import JsonObject

CALL = {"tool": "book", "catalog_digest": "c", "card_type": "structured-order", "call_id": "m.l.1"}
texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | texts
objects = st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=5)


@given(objects)
def test_the_order_of_arguments_does_not_matter(arguments: JsonObject) -> None:
    """The same arguments in another order have the same digest."""
    turned = dict(reversed(arguments.items()))

    assert call_digest(arguments=arguments, **CALL) == call_digest(arguments=turned, **CALL)


@given(objects, objects)
def test_other_arguments_have_another_digest(one: JsonObject, other: JsonObject) -> None:
    """A digest tells arguments apart whenever they differ as JSON."""
    same = call_digest(arguments=one, **CALL) == call_digest(arguments=other, **CALL)

    assert same == (_typed(one) == _typed(other))


def _typed(value: object) -> object:
    """The value with True told from 1, which Python calls equal and JSON does not."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value


@given(st.sampled_from(sorted(CALL)))
def test_every_part_of_a_call_is_covered(part: str) -> None:
    """Another tool, catalog, card type or call has another digest."""
    other = {**CALL, part: "something else"}

    assert call_digest(arguments={}, **CALL) != call_digest(arguments={}, **other)
