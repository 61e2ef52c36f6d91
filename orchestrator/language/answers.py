"""What a person types for a field, read as the value that the field's JSON Schema takes."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

from pydantic import JsonValue
from rapidfuzz import fuzz

from orchestrator.core.record import JsonObject, Record
from orchestrator.language.values import Value, ValueKind, find_values
from orchestrator.language.word_lists import WordLists

FieldKind = Literal[
    "choice", "flag", "date", "time", "moment", "money", "whole", "number", "several", "email",
    "priced", "object", "text",
]  # fmt: skip


class ValueUnread(Exception):
    """A text is no value of a field, or can be read in several ways; the message says why."""

    def __init__(self, why: str, *readings: str) -> None:
        """Take the sentence, and the readings where there are several."""
        super().__init__(why)
        self.readings = readings


class FieldChoice(Record):
    """One of the values that a field takes, and what it stands for."""

    value: JsonValue
    label: str
    about: str = ""


_LISTS: Final = WordLists("asked")
_YES: Final = _LISTS.word_set("yes")
_NO: Final = _LISTS.word_set("no")
_FILLERS: Final = _LISTS.word_set("fillers")
_PARTS_OF_DAY: Final = _LISTS.word_set("parts_of_day")
_ORDINALS: Final = {word: int(place) for word, place in _LISTS.table("ordinals").items()}
_GOING_ON: Final = frozenset(_LISTS.lines("going_on"))
_STOPPING: Final = frozenset(_LISTS.lines("stopping"))
_TYPES: Final[dict[str, FieldKind]] = {
    "boolean": "flag",
    "integer": "whole",
    "number": "number",
    "array": "several",
    "object": "object",
}
_FORMATS: Final[dict[str, FieldKind]] = {
    "date": "date",
    "date-time": "moment",
    "time": "time",
    "email": "email",
    "idn-email": "email",
}
_MONEY: Final = frozenset({"amount", "currency"})
_APART: Final = re.compile(r"\s*(?:[,;]|\band\b)\s*")


def read_answer(
    text: str, schema: JsonObject, *, now: datetime, kind: FieldKind | None = None
) -> JsonValue:
    """Return the value that a text means for a field; the caller validates it by the schema.

    Args:
        text: as a person typed it: "tomorrow", "8 pm", "the second one", "two".
        schema: the field's JSON Schema, references resolved.
        now: when it was typed, in the person's own time.
        kind: how the field is read; by default as its type and format say.

    Raises:
        ValueUnread: the text is no value of the field, or may be several.
    """
    text = text.strip()
    if choices := choices_of(schema):
        return _choice(text, choices, is_open=takes_other_texts(schema), now=now)
    if not text:
        raise ValueUnread("nothing was said")
    match kind or kind_of(schema):
        case "flag":
            return _flag(text)
        case "date":
            return _one(text, "date", now, "day").value
        case "time":
            return _time(text, now)
        case "moment":
            return _moment(text, now)
        case "whole" | "number":
            return _number(text, now)
        case "money":
            return _json_object(text) or _money(text, schema, now)
        case "priced":
            return _json_object(text) or _priced(text, schema, now)
        case "several":
            return _several(text, schema, now)
        case "object":
            if (read := _json_object(text)) is None:
                raise ValueUnread(f"{text!r} is no JSON object")
            return read
        case _:
            return text if "type" in schema else _json(text, otherwise=text)


# --- fields ---------------------------------------------------------------------------------


def kind_of(schema: JsonObject) -> FieldKind:
    """Return how a field is read, by its type and format."""
    declared = schema.get("type")
    named = [str(n) for n in declared if n != "null"] if isinstance(declared, list) else [declared]
    if named == ["object"] or (named == [None] and "properties" in schema):
        properties = schema.get("properties")
        if isinstance(properties, dict) and set(properties) == _MONEY:
            return "money"
        return "priced" if text_with_money(schema) else "object"
    if len(named) == 1 and (found := _TYPES.get(str(named[0]))) is not None:
        return found
    return _FORMATS.get(str(schema.get("format")), "text") if named == ["string"] else "text"


def text_with_money(schema: JsonObject) -> str:
    """Return the one text that an object requires next to an amount and its currency; "" if none.

    Example: `description`, of what an expense report lists.
    """
    listed, properties = schema.get("required"), schema.get("properties")
    needed = {str(name) for name in listed} if isinstance(listed, list) else set()
    if len(needed) != 3 or not needed > _MONEY or not isinstance(properties, dict):
        return ""
    (name,) = needed - _MONEY
    other = properties.get(name)
    is_text = isinstance(other, dict) and other.get("type") == "string" and not choices_of(other)
    return name if is_text else ""


def choices_of(schema: JsonObject) -> tuple[FieldChoice, ...]:
    """Return what the enum of a schema lists, or the constants among its alternatives."""
    listed = schema.get("enum")
    if isinstance(listed, list):
        return tuple(
            FieldChoice(value=value, label=_readable(value))
            for value in listed
            if value is not None
        )
    return tuple(_constant(branch) for branch in _branches(schema) if "const" in branch)


def _constant(branch: JsonObject) -> FieldChoice:
    title, about = branch.get("title"), branch.get("description")
    return FieldChoice(
        value=branch["const"],
        label=title if isinstance(title, str) and title else _readable(branch["const"]),
        about=about.split(". ")[0].strip(" .\n")[:200] if isinstance(about, str) else "",
    )


def takes_other_texts(schema: JsonObject) -> bool:
    """Return true if a field takes texts in addition to its choices."""
    if "enum" in schema:
        return False
    return any("const" not in b and b.get("type") == "string" for b in _branches(schema))


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    for keyword in ("oneOf", "anyOf"):
        held = schema.get(keyword)
        yield from (b for b in held if isinstance(b, dict)) if isinstance(held, list) else ()


def _readable(value: JsonValue) -> str:
    """A value that a machine named, in words: `premium_economy` is "premium economy"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    apart = text.replace("_", " ").strip()
    return apart if apart and " " not in text else text


# --- choices --------------------------------------------------------------------------------

_NEAR: Final = 80.0
"""How alike, of 100, a word must be to a word of a label to be taken for a slip of it."""
_SLIP: Final = 70.0
"""How alike a text of one's own must be to an option to be refused as a slip of it."""
_LISTED: Final = 100
"""Characters of choices that are repeated where an answer is none of them."""


def _choice(
    text: str, choices: Sequence[FieldChoice], *, is_open: bool, now: datetime
) -> JsonValue:
    """The choice that a text says, all words of it; or the text, where others are taken."""
    said = _plain(text)
    exact = [c for c in choices if said in (_plain(str(c.value)), _plain(c.label))]
    found = exact[:1] or _by_place(said, choices) or _by_yes_or_no(said, choices)
    if found:
        return found[0].value
    begun = [c for c in choices if said and _plain(c.label).startswith(said)]
    if is_open:
        return _own_text(text, begun, choices)
    begun = begun or [c for c in choices if len(said) > 2 and _says(said, c.label)]
    begun = begun or _by_value(text, choices, now) or _slips(said, choices)
    if len(begun) == 1:
        return begun[0].value
    if begun:
        raise ValueUnread(f"{text!r} may be {_among(begun, choices)}", *(c.label for c in begun))
    raise ValueUnread(f"{text!r} is none of {_among(choices, choices)}")


def _says(said: str, label: str) -> bool:
    """True if a label holds these words: "acme" of "INV-7, Acme, 12 EUR"."""
    return re.search(rf"(?<!\w){re.escape(said)}(?!\w)", _plain(label)) is not None


def _by_place(said: str, choices: Sequence[FieldChoice]) -> list[FieldChoice]:
    """By "2", "the second one", "the last"; numbers that are values themselves are no places."""
    words = _told(said)
    if len(words) != 1:
        return []
    (word,) = words
    if word == "last":
        return [choices[-1]]
    if "one" not in said.split() and (named := [c for c in choices if _plain(c.label) == word]):
        return named
    nth = re.fullmatch(r"(\d{1,4})(?:st|nd|rd|th)", word)
    place = _ORDINALS.get(word) or (int(nth[1]) if nth else 0)
    if not place and re.fullmatch(r"[0-9]{1,4}", word) and not any(_counts(c) for c in choices):
        place = int(word)
    return [choices[place - 1]] if 0 < place <= len(choices) else []


def _counts(choice: FieldChoice) -> bool:
    value = choice.value
    return isinstance(value, int | float) or (isinstance(value, str) and value.isdigit())


def _by_yes_or_no(said: str, choices: Sequence[FieldChoice]) -> list[FieldChoice]:
    words = _told(said)
    for meaning, options in ((_YES, _GOING_ON), (_NO, _STOPPING)):
        if words and all(word in meaning for word in words):
            return [c for c in choices if _plain(str(c.value)) in options][:1]
    return []


def _by_value(text: str, choices: Sequence[FieldChoice], now: datetime) -> list[FieldChoice]:
    """The choice whose value a text names otherwise: "8 pm" of 08:00 and 20:00."""
    values = find_values(text, now=now)
    if len(values) != 1 or values[0].value is None or not _is_filler(_without(text, values)):
        return []
    return [c for c in choices if c.value == values[0].value]


def _slips(said: str, choices: Sequence[FieldChoice]) -> list[FieldChoice]:
    """The one choice of which each word was typed, or nearly; another number is no slip."""
    if len(said) < 3:
        return []
    return [
        c
        for c in choices
        if re.findall(r"\d", said) == re.findall(r"\d", _plain(c.label))
        and len(said.split()) == len(_plain(c.label).split())
        and all(
            fuzz.ratio(one, other) >= _NEAR
            for one, other in zip(said.split(), _plain(c.label).split(), strict=True)
        )
    ]


def _own_text(text: str, begun: Sequence[FieldChoice], choices: Sequence[FieldChoice]) -> str:
    """A text of one's own, unless it is rather an option with a slip, or a bare yes or no."""
    said = _plain(text)
    if not said:
        raise ValueUnread("nothing was said")
    near = begun or [c for c in choices if fuzz.ratio(said, _plain(c.label)) >= _SLIP]
    if said in _YES | _NO or near:
        meant = f"; is {near[0].label!r} meant?" if near else ""
        raise ValueUnread(f"{text!r} is none of {_among(choices, choices)}{meant}")
    return text


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\s_-]+", " ", text.casefold()).strip(" .!,'\"").split())


def _told(said: str) -> list[str]:
    return [word for word in re.findall(r"[\w'\u2019]+", said) if word not in _FILLERS]


def _among(some: Sequence[FieldChoice], choices: Sequence[FieldChoice]) -> str:
    """Some of the choices in words, or by their numbers where they are long."""
    said = ", ".join(choice.label for choice in some)
    if len(said) <= _LISTED:
        return said
    if len(some) == len(choices):
        return f"the {len(choices)} that are listed"
    return f"any of {', '.join(str(n) for n, c in enumerate(choices, start=1) if c in some)}"


# --- values ---------------------------------------------------------------------------------


def _flag(text: str) -> bool:
    words = _told(text.lower())
    for meaning, value in ((_YES, True), (_NO, False)):
        if words and all(word in meaning for word in words):
            return value
    raise ValueUnread(f"{text!r} is neither yes nor no")


def _one(text: str, kind: ValueKind, now: datetime, noun: str) -> Value:
    """The one value of its kind that a text names, with nothing but fillers around it."""
    found = [value for value in find_values(text, now=now) if value.kind == kind]
    if len(found) != 1:
        raise ValueUnread(f"{text!r} names {f'several {noun}s' if found else f'no {noun}'}")
    (value,) = found
    if value.readings:
        raise ValueUnread(f"{text!r} may be {' or '.join(value.readings)}", *value.readings)
    if value.value is None:
        raise ValueUnread(f"{text!r} names no single {noun}")
    if not _is_filler(_without(text, found)):
        raise ValueUnread(f"{text!r} says more than a {noun}")
    return value


def _without(text: str, values: Sequence[Value]) -> str:
    for value in reversed(values):
        text = f"{text[: value.start]} {text[value.end :]}"
    return text


def _is_filler(rest: str) -> bool:
    return all(w in _FILLERS | _PARTS_OF_DAY for w in re.findall(r"[\w'\u2019]+", rest.lower()))


def _time(text: str, now: datetime) -> JsonValue:
    """A time of day; a number alone is an hour."""
    said = f"at {text}" if re.fullmatch(r"\d{1,2}(?:\s+(?:in|on)\b.*)?", text) else text
    return _one(said, "time", now, "time of day").value


def _moment(text: str, now: datetime) -> str:
    values = find_values(text, now=now)
    days = [v for v in values if v.kind == "date"]
    if len(days) == 1 and not any(v.kind == "time" for v in values):
        raise ValueUnread(f"{text!r} names a day, and no time of it")
    clock = _one(_without(text, days), "time", now, "time of day").value
    day = _one(_without(text, [v for v in values if v.kind == "time"]), "date", now, "day").value
    moment = datetime.fromisoformat(f"{day}T{clock}:00").replace(tzinfo=now.tzinfo)
    return moment.isoformat().replace("+00:00", "Z")


def _number(text: str, now: datetime) -> JsonValue:
    as_json = _json(text)
    if isinstance(as_json, int | float) and not isinstance(as_json, bool):
        return int(as_json) if as_json == int(as_json) else as_json
    values = find_values(text, now=now)
    money = next((v.value for v in values if v.kind == "amount"), None)
    if isinstance(money, dict):
        currency = money["currency"]
        raise ValueUnread(f"{text!r} names a currency ({currency}), and this takes a number alone")
    numbers = [v for v in values if v.kind in ("number", "duration")]
    if len(numbers) != 1 or len(values) != 1:
        raise ValueUnread(f"{text!r} is not one number")
    (found,) = numbers
    words = re.findall(r"[\w'\u2019]+", _without(text, numbers).lower())
    if not _is_filler(" ".join(word for word in words if word != found.unit)):
        raise ValueUnread(f"{text!r} is not one number")
    return next(iter(found.value.values())) if isinstance(found.value, dict) else found.value


def _money(text: str, schema: JsonObject, now: datetime) -> JsonObject:
    """The amount and currency, the amount a number or a text as the schema takes it."""
    money = _one(text, "amount", now, "amount with its currency").value
    properties = schema.get("properties")
    amount = properties.get("amount") if isinstance(properties, dict) else None
    if not isinstance(money, dict):
        raise ValueUnread(f"{text!r} is not one amount with its currency")
    if isinstance(amount, dict) and amount.get("type") == "string":
        return money
    number = Decimal(str(money["amount"]))
    return {**money, "amount": int(number) if number == int(number) else float(number)}


def _priced(text: str, schema: JsonObject, now: datetime) -> JsonObject:
    """What something is, and its amount: "taxi 23.50 EUR", "12 euros for lunch"."""
    amounts = [v for v in find_values(text, now=now) if v.kind == "amount"]
    if len(amounts) != 1:
        raise ValueUnread(f"{text!r} is not one thing with one amount and its currency")
    words = re.split(r"[\s,:;]+", _without(text, amounts).strip(" ,:;"))
    said = [place for place, word in enumerate(words) if word and word.lower() not in _FILLERS]
    if not said:
        raise ValueUnread(f"{text!r} does not say what costs that")
    what = " ".join(words[said[0] : said[-1] + 1])
    return {text_with_money(schema): what, **_money(amounts[0].text, schema, now)}


def _several(text: str, schema: JsonObject, now: datetime) -> list[JsonValue]:
    as_json = _json(text)
    if isinstance(as_json, list):
        return as_json
    items = schema.get("items")
    each = items if isinstance(items, dict) else {}
    return [read_answer(part, each, now=now) for part in _APART.split(text) if part.strip()]


def _json_object(text: str) -> JsonObject | None:
    read = _json(text)
    return read if isinstance(read, dict) else None


def _json(text: str, *, otherwise: JsonValue = None) -> JsonValue:
    try:
        value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return otherwise
    return otherwise if isinstance(value, float) and not math.isfinite(value) else value
