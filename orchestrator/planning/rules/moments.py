"""When a thing is, as its fields say it."""

from orchestrator.language import lexicon
from orchestrator.language.words import tokens
from orchestrator.planning.rules.answers import DATE, TIME, Item


def moment_of(item: Item) -> str:
    """When a thing is, as text that sorts: its first moment, or day and time; "" when it says none.

    When it was made, or how long it is offered, is none of it.
    """
    return _moment([v for k, v in _texts(item) if not lexicon.BOOKKEEPING & set(tokens(k))])


def dated(item: Item) -> str:
    """When a thing is or, where it has no time of its own, when it was made or last changed."""
    return moment_of(item) or _moment([value for _, value in _texts(item)])


def _texts(item: Item) -> list[tuple[str, str]]:
    own = ((name, value) for name, value in item.fields.items() if name in item.own)
    return [(name, value) for name, value in own if isinstance(value, str)]


def _moment(texts: list[str]) -> str:
    whole = next((v for v in texts if "T" in v and DATE.match(v[:10])), "")
    day = next((v for v in texts if DATE.match(v)), "")
    clock = next((v for v in texts if TIME.match(v)), "")
    return whole or (f"{day}T{clock}" if day or clock else "")
