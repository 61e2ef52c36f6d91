"""Facts of other legs that may tell what a call names."""

from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import Fact

_LONGEST_ID = 200


def facts_naming(arguments: JsonObject, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that may tell what a call's arguments name: a call carries no others along."""
    wanted = {value for value in _scalars(arguments) if _may_name(value)}
    return tuple(fact for fact in facts if not wanted.isdisjoint(_scalars(fact.body)))


def _scalars(value: JsonValue) -> Iterator[str | int | float | None]:
    if isinstance(value, dict):
        for held in value.values():
            yield from _scalars(held)
    elif isinstance(value, list):
        for held in value:
            yield from _scalars(held)
    else:
        yield value


def _may_name(value: JsonValue) -> bool:
    """Whether a value could be the id of something: no long text, no yes or no."""
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_ID and not is_handle(value)
    return isinstance(value, int) and not isinstance(value, bool)
