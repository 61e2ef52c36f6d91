"""Contradictions: answers that deny their own status of success, by one closed rule.

The rule serves operations that declare no `x-orchet-success-when`. docs/contract.md states it; a
provider whose words are not in it declares a condition or a probe, and no list here grows.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.call_templates import is_empty, item_worked, status_of
from orchestrator.catalog.tool import ENDED, Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.inflection import participle
from orchestrator.language.words import name_words

_SUCCESS: Final = frozenset({"success", "succeeded", "successful", "ok", "done", "completed"})
_STATES_OF_THINGS: Final = frozenset({"done", "completed"})
"""Names that also say how far a thing is: a new task answers `completed: false`."""
_AUXILIARIES: Final = frozenset({"is", "was", "has", "been"})
_STATES: Final = ("status", "state")
_UNFINISHED: Final = frozenset({"pending", "processing", "in_progress", "queued", "accepted"})
"""States with which a cancel says no more than a 202 does."""
_TROUBLES: Final = ("error", "errors")
_MULTI_STATUS: Final = 207
_MOST_ITEMS: Final = 1_000
_MOST_IDS: Final = 3
_LONGEST_ID: Final = 100


def contradiction(tool: Tool, status: int, body: JsonValue) -> str | None:
    """Return how an answer contradicts its status of success, in words; None if it does not.

    Contradictions are a `false` (or 0, or `"false"`) that is named for success or for the tool's
    own verb, a non-empty `error` or `errors`, a state that says that the act was not done, and a
    failed item in a multi-status. The body and the objects directly in it are read.
    """
    acts = _acts_of(tool)
    for where, held in _objects(body):
        for name, value in held.items():
            is_false = value in (False, 0)
            if isinstance(value, str):
                is_false = value.strip().lower() == "false"
            if is_false and _names_success(name, acts) and not _is_of_thing(tool, name, held, acts):
                return f"it answers {where}{name}: {str(value).lower()}"
            if name.lower() in _TROUBLES and not is_empty(value):
                return f"it answers {where}{name}"
    if (ended := ended_state(tool, body)) is not None:
        return ended
    if status == _MULTI_STATUS and any(status_of(one) >= 400 for one in _items(body)):
        return "some of its items failed"
    return None


def ended_state(tool: Tool, body: JsonValue) -> str | None:
    """Return the state in an answer that says that the act was not done; None if there is none."""
    acts = _acts_of(tool)
    for where, held in _objects(body):
        for name, value in held.items():
            said = value.lower() if name.lower() in _STATES and isinstance(value, str) else ""
            if said in ENDED and said not in acts:
                return f"it answers {where}{name}: {said}"
    return None


def still_as_made(made: JsonValue, body: JsonValue, names: Mapping[str, JsonValue]) -> str | None:
    """Return the state in a cancel's answer that is the call's own or an unfinished one, or None.

    An object with another id than those in `names`, the cancel's arguments, such as a refund, has a
    state of its own; a state that the cancel sets is no contradiction.
    """
    ours = {str(value) for value in names.values() if isinstance(value, str | int)}
    wanted = {value.lower() for value in ours}
    states = [o[name] for _, o in _objects(made) for name in _STATES if name in o]
    before = {one.lower() for one in states if isinstance(one, str) and one} - wanted
    for where, held in _objects(body):
        ids = [str(v) for n, v in held.items() if _is_id(n) and isinstance(v, str | int)]
        for name in _STATES:
            value = held.get(name)
            said = value.lower() if isinstance(value, str) else ""
            is_unfinished = not where and said in _UNFINISHED - wanted
            if not is_unfinished and said not in before:
                continue
            is_envelope = not ids and said in _SUCCESS
            if not is_envelope and (not ids or not ours.isdisjoint(ids)):
                why = "which does not say that it is done" if is_unfinished else "as before"
                return f"it answers {where}{name}: {value}, {why}"
    return None


def named_ids(body: JsonValue) -> str:
    """Return the ids in an answer, by their names, in a short text; empty if there are none."""
    named = [
        f"{where}{name} {str(value)[:_LONGEST_ID]}"
        for where, held in _objects(body)
        for name, value in held.items()
        if _is_id(name) and isinstance(value, str | int) and value
    ]
    return ", ".join(named[:_MOST_IDS])


def some_items_worked(body: JsonValue) -> bool:
    """Return True if a list item in an answer has an id or a status of success."""
    return any(
        200 <= status_of(one) < 300 or any(_is_id(name) and value for name, value in one.items())
        for one in _items(body)
        if item_worked(one)
    )


def _acts_of(tool: Tool) -> frozenset[str]:
    done = [participle(word) for word in name_words(tool.name)]
    return frozenset([*done, *(word.replace("lled", "led") for word in done)])


def _is_of_thing(tool: Tool, name: str, held: JsonObject, acts: frozenset[str]) -> bool:
    """Return True if the name says how far the new thing is that its object shows with an id."""
    last = name_words(name)[-1]
    is_state = last in _STATES_OF_THINGS and last not in acts and tool.effect is not Effect.CANCEL
    return is_state and any(_is_id(one) and value for one, value in held.items())


def _names_success(name: str, acts: frozenset[str]) -> bool:
    *before, last = name_words(name)
    return (last in _SUCCESS or last in acts) and _AUXILIARIES.issuperset(before)


def _objects(body: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(body, dict):
        yield "", body
        for name, value in body.items():
            if isinstance(value, dict):
                yield f"{name}.", value


def _items(body: JsonValue) -> Iterator[JsonObject]:
    lists = [body] if isinstance(body, list) else [v for _, o in _objects(body) for v in o.values()]
    for listed in lists:
        if isinstance(listed, list):
            yield from (one for one in listed[:_MOST_ITEMS] if isinstance(one, dict))


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.endswith(("_id", "Id", "ID"))
