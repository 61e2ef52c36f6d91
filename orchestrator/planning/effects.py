"""Effects checked against orders, whoever planned them: structure alone, no words of a goal."""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import as_written
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.canonical import canonical_text
from orchestrator.saga.orders import Effect, Order, has_room

_SHAPED: Final = frozenset({"enum", "const", "format", "pattern", "oneOf", "anyOf", "$ref"})
_LONG_TEXT: Final = 5
"""Words from which on a required text is prose and no name."""
READ_ONLY: Final = "the mission is read-only (--read-only): {tool} would change something"


def why_unordered(
    tool: Tool,
    arguments: JsonObject,
    orders: Sequence[Order],
    effects: Sequence[Effect],
    *,
    most_each: int,
) -> str:
    """Why no order covers a consequence, in one sentence; empty: one does.

    Args:
        tool: that is called.
        arguments: complete, personal values as handles.
        orders: of its leg.
        effects: of its leg, and of the legs that it handed parts to.
        most_each: how many effects an `each` order may have.
    """
    standing = [effect for effect in effects if not effect.why_not]
    for effect in standing:
        if effect.tool == tool.name and _is_same(tool, arguments, effect.arguments):
            return (
                f"This repeats {effect.title or tool.title!r}, which stands ({effect.call_id}): "
                "the same tool with the same essential arguments."
            )
    if has_room(orders, standing, tool.name, most_each):
        return ""
    own = [order for order in orders if tool.name in order.tools]
    if not own:
        said = "; ".join(str(order) for order in orders)
        return f"The plan does not order this; it orders {said}." if said else _NO_ORDER
    if any(order.each for order in own):
        return f"This is more than the plan orders: one for each of the {most_each} that were read."
    count = sum(order.count for order in own)
    done = sum(effect.tool == tool.name for effect in standing)
    return f"This is more than the plan orders: {count}, and {done} stand."


_NO_ORDER: Final = "The plan does not order this: this part of it orders no consequence."


def is_covered(
    tool: str, covered: Sequence[Order], effects: Sequence[Effect], *, most_each: int
) -> bool:
    """True if a standing approval may cover a consequence that the plan orders."""
    standing = [effect for effect in effects if not effect.why_not]
    return has_room(covered, standing, tool, most_each)


def longest_list(bodies: Iterable[JsonValue]) -> int:
    """How many things the longest list in some answers has."""
    return max(map(_longest, bodies), default=0)


def essential_arguments(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments without free texts, our own references and what goes unsaid."""
    return {
        name: value
        for name, value in as_written(arguments).items()
        if name not in tool.reference_inputs and not _is_inessential(tool, name, value)
    }


def _is_same(tool: Tool, arguments: JsonObject, others: JsonObject) -> bool:
    one, other = essential_arguments(tool, arguments), essential_arguments(tool, others)
    return canonical_text(one) == canonical_text(other)


def _is_inessential(tool: Tool, name: str, value: JsonValue) -> bool:
    """True for a default, and for a text that no schema shapes: prose, or an optional remark."""
    schema = tool.properties.get(name, {})
    if "default" in schema and schema["default"] == value:
        return True
    if not isinstance(value, str) or schema.get("type") != "string" or _SHAPED & {*schema}:
        return False
    words, required = len(value.split()), tool.input_schema.get("required")
    is_required = isinstance(required, list) and name in required
    return words >= _LONG_TEXT or (words > 1 and not is_required)


def _longest(body: JsonValue) -> int:
    if isinstance(body, list):
        return max(len(body), longest_list(body))
    return longest_list(body.values()) if isinstance(body, dict) else 0
