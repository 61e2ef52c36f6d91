"""Follow-up actions: calls that the answer of a call makes possible, the declared cancel first."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.arguments import check_arguments, personal_fields
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool, id_names, thing_of
from orchestrator.core.budget import Money
from orchestrator.core.pii import as_written, handle_for
from orchestrator.core.record import JsonObject
from orchestrator.language.inflection import singular
from orchestrator.language.words import tokens
from orchestrator.saga.outcome import FollowUp, FollowUpKind

MOST: Final = 8
"""The maximum number of follow-ups of one call: more would be too many to ask about."""
_MOST_ITEMS: Final = 3
"""The number of items of a listing whose follow-ups are named, in the provider's order."""
_LONGEST: Final = 200
_PARAMETER: Final = re.compile(r"\{([^{}]*)\}")
_ID: Final = re.compile(r"(?i).*(id|reference|number|code|key|uuid|slug)")
_SAYS_LITTLE: Final = frozenset({
    "status", "state", "type", "kind", "name", "title", "text", "description", "note", "message",
    "subject", "query", "date", "time", "day", "currency", "amount", "total", "price", "language",
    "locale", "timezone", "unit", "sort", "order", "limit", "offset", "page",
})  # fmt: skip
"""Names that many resources share: alone they connect no two tools."""

_ORDER: Final[tuple[FollowUpKind, ...]] = ("cancel", "read", "consequence")


def follow_ups(
    catalog: Catalog,
    tool: Tool,
    *,
    call_id: str,
    arguments: JsonObject,
    body: JsonValue,
    cancel_inputs: JsonObject | None = None,
    price: Money | None = None,
    at: datetime | None = None,
) -> tuple[FollowUp, ...]:
    """Return the possible calls after one that succeeded: at most `MOST` tools of its document."""
    known, filled = as_written(arguments), as_written(cancel_inputs or {})
    found = [*_cancel(catalog, tool, filled, price, at)]
    shared, sent = _shared_names(catalog, tool.document), frozenset(_texts(known))
    declared = tool.compensation.cancel.tool if tool.compensation is not None else ""
    peers = [
        other
        for other in catalog.tools.values()
        if other.document == tool.document and other.name not in (tool.name, declared)
    ]
    for item in _items(body):
        for other in peers:
            inputs = _inputs(catalog, tool, other, item, {**known, **filled}, shared)
            # A booking for a customer is no reason to offer that the customer be deleted.
            is_anothers = other.effect is Effect.CANCEL and other.cancel_for not in (
                None,
                tool.name,
            )
            only_sent = inputs is not None and sent.issuperset(_texts(inputs))
            if inputs is not None and not (tool.is_side_effect and is_anothers and only_sent):
                found.append(_to(other, inputs))
    unique = {(one.tool, repr(sorted(one.inputs.items()))): one for one in found}
    listed = sorted(unique.values(), key=lambda one: _ORDER.index(one.kind))[:MOST]
    return tuple(
        one.model_copy(update={"id": f"{call_id}:{number}"})
        for number, one in enumerate(listed, start=1)
    )


def _cancel(
    catalog: Catalog, tool: Tool, inputs: JsonObject, price: Money | None, at: datetime | None
) -> Iterator[FollowUp]:
    contract = tool.compensation
    cancel = catalog.tools.get(contract.cancel.tool) if contract is not None else None
    if contract is None or cancel is None or tool.irreversible:
        return
    missing = () if not check_arguments(catalog, cancel, inputs) else cancel.required_inputs
    yield _to(cancel, inputs).model_copy(
        update={
            "asks_for": tuple(name for name in missing if name not in inputs),
            "until": None if contract.window is None or at is None else at + contract.window,
            "fee": None if contract.fee is None else contract.fee.of(price),
        }
    )


def _to(tool: Tool, inputs: JsonObject) -> FollowUp:
    kind: FollowUpKind = "consequence" if tool.is_side_effect else "read"
    kind = "cancel" if tool.effect is Effect.CANCEL else kind
    return FollowUp(id="", kind=kind, tool=tool.name, title=tool.title, inputs=inputs)


def _items(body: JsonValue) -> list[JsonObject]:
    lists = body.values() if isinstance(body, dict) else [body]
    listed = [
        held for held in lists if isinstance(held, list) and held and isinstance(held[0], dict)
    ]
    if isinstance(body, dict):
        has_id = any(name.lower().endswith("id") and _is_plain(v) for name, v in body.items())
        if len(listed) != 1 or has_id:
            return [body]
    return [item for item in (listed[0] if listed else []) if isinstance(item, dict)][:_MOST_ITEMS]


def _inputs(
    catalog: Catalog,
    tool: Tool,
    other: Tool,
    item: JsonObject,
    known: JsonObject,
    shared: frozenset[str],
) -> JsonObject | None:
    """Return the required inputs of another tool, if this answer fills them; else None.

    `shared` are the names of path parameters that several kinds of resources have: such a value is
    an id only for the kind that it came from.
    """
    answered, sent = _by_name(tool, item), {_plain(name): held for name, held in known.items()}
    forward = catalog.tools.get(tool.cancel_for or "", tool)
    own = {_plain(name) for name in (*tool.reference_inputs, *forward.reference_inputs)}
    personal = personal_fields(catalog, other)
    inputs: JsonObject = {}
    is_about_it = False
    steps = _static_steps(tool)
    for name in other.required_inputs:
        if name in other.reference_inputs:
            continue  # filled when a call is prepared
        plain, noun = _plain(name), _noun_before(other, name)
        is_of_thing = name not in shared or (noun and steps and noun == steps[-1])
        is_below_same = name not in shared or (noun and noun == _noun_before(tool, name))
        if name in personal:
            inputs[name] = handle_for(name)
        elif plain in answered and is_of_thing:
            inputs[name] = answered[plain]
            is_about_it |= plain not in own and _identifies(name, answered[plain], tool)
        elif plain in sent and is_below_same:
            inputs[name] = sent[plain]
        elif "default" not in other.properties.get(name, {}):
            return None
    if not is_about_it or check_arguments(catalog, other, inputs):
        return None
    return inputs


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict | list):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _texts(held)
    else:
        yield str(value)


def _by_name(tool: Tool, item: JsonObject) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for outer, held in item.items():
        inner = held if isinstance(held, dict) else {}
        for name, value in inner.items():
            if _is_plain(value):
                values.setdefault(_plain(f"{outer}_{name}" if name == "id" else name), value)
    values |= {_plain(name): held for name, held in item.items() if _is_plain(held)}
    if "id" in values:
        for name in (*id_names(_thing(tool)), _thing(tool)):
            values.setdefault(_plain(name), values["id"])
    return values


def _is_plain(value: JsonValue) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST
    return isinstance(value, int | float) and not isinstance(value, bool)


def _identifies(name: str, value: JsonValue, tool: Tool) -> bool:
    """Return True if an input that an answer fills connects both calls to one resource.

    After a consequence only an identifier does: its other values were already in the request.
    """
    if _ID.fullmatch(name) or tool.is_side_effect:
        return _ID.fullmatch(name) is not None
    words = {part for part in re.split(r"[^a-z]+", name.lower()) if part}
    return isinstance(value, str) and not words & _SAYS_LITTLE


def _thing(tool: Tool) -> str:
    if not (steps := _static_steps(tool)):
        return ""
    return thing_of(tool.model_copy(update={"path": f"/{steps[-1]}"}))


def _shared_names(catalog: Catalog, document: str) -> frozenset[str]:
    """Return `id` and the path parameters that follow several nouns: `code`, `uuid`."""
    nouns: dict[str, set[str]] = {}
    for tool in catalog.tools.values():
        for name in _PARAMETER.findall(tool.path) if tool.document == document else ():
            noun = _noun_before(tool, name)
            if noun and not {*tokens(singular(noun))} <= {*tokens(name)}:
                nouns.setdefault(name, set()).add(noun)
    return frozenset({"id", *(name for name, found in nouns.items() if len(found) > 1)})


def _noun_before(tool: Tool, name: str) -> str:
    before, placeholder, _ = tool.path.partition(f"/{{{name}}}")
    noun = before.rpartition("/")[2] if placeholder else ""
    return "" if "{" in noun else noun


def _static_steps(tool: Tool) -> list[str]:
    return [step for step in tool.path.split("/") if step and "{" not in step]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
