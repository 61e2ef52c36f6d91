"""Which tools spend money: by their card, or, where nobody is asked, by the price they answer."""

from functools import lru_cache

from orchestrator.catalog.stated_prices import names_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of

_LEAVES_SOMETHING = (Effect.OBLIGATION, Effect.WRITE)


def takes_money(tool: Tool) -> bool:
    """Whether the price of a call is money that leaves.

    The type of its card says so. Of a tool that asks nobody there is none: it is taken to spend
    when a price is declared, or when its answer has the name of one.
    """
    if tool.needs_confirmation:
        return tool.spends
    if tool.price is not None:
        return tool.effect in _LEAVES_SOMETHING and not tool.price.is_free
    return tool.effect in _LEAVES_SOMETHING and _answers_price(tool)


def may_be_overcharged(tool: Tool) -> bool:
    """Whether what it charges can be compared: what a cancel answers is paid back, and no price."""
    return takes_money(tool) and tool.effect in _LEAVES_SOMETHING


def states_price(tool: Tool) -> bool:
    """Whether its document has a price for it: declared, or by a name in its answer."""
    return tool.price is not None or _answers_price(tool)


@read_once
def _answers_price(tool: Tool) -> bool:
    schema = tool.output_schema
    return schema is not None and _names_price(schema, schema, levels=2)


def _names_price(schema: JsonObject, root: JsonObject, *, levels: int) -> bool:
    """Whether a property of an object has the name of a price, or one of an object inside of it."""
    below = properties_of(resolve(schema, root))
    if any(map(_is_price, below)):
        return True
    return levels > 1 and any(_names_price(s, root, levels=levels - 1) for s in below.values())


@lru_cache(maxsize=4096)
def _is_price(name: str) -> bool:
    return names_price(name)
