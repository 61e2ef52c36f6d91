"""Which facts of other legs have to do with a call, and which of them found nothing."""

from collections.abc import Collection, Iterator

from pydantic import JsonValue

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import Fact
from orchestrator.saga.judged import is_empty

_LONGEST_ID = 200


def facts_naming(arguments: JsonObject, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that may tell what a call's arguments name: a call carries no others along."""
    wanted = {value for value in _scalars(arguments) if _may_name(value)}
    return tuple(fact for fact in facts if not wanted.isdisjoint(_scalars(fact.body)))


def facts_of_nothing(facts: tuple[Fact, ...], *, but: Collection[str] = ()) -> tuple[Fact, ...]:
    """The last fact of each leg that only looked, and found nothing: what goes on about it asks.

    Not of the legs `but` these, by whose answers it was decided: "if there is nothing, book one".
    """
    by_leg: dict[str, list[Fact]] = {}
    for fact in facts:
        leg_id = fact.source.rpartition(".")[0]
        if leg_id not in but:
            by_leg.setdefault(leg_id, []).append(fact)
    in_vain = (of for of in by_leg.values() if all(_is_in_vain(fact) for fact in of))
    return tuple(of[-1] for of in in_vain)


def _is_in_vain(fact: Fact) -> bool:
    return not fact.side_effect and is_empty(fact.body)


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
