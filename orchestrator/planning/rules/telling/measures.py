"""What is measured of a thing that was found: its number, its price, when it is, how long."""

from collections.abc import Callable, Sequence, Set
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from orchestrator.catalog.stated_prices import money_of
from orchestrator.language import lexicon
from orchestrator.language.degrees import Degree
from orchestrator.language.words import stem
from orchestrator.planning.rules.telling.told_field import Told

COUNTED: Final = frozenset({"number", "money"})
"""Sorts of fields that are so much of something."""
_SIZE: Final = "digital"
_DAYS_OF_ALL: Final = "2000-01-01"
"""The day on which hours of a day are compared."""

Row = Sequence[Told]
Measure = Callable[[Row], Decimal | None]


def measure_by(degree: Degree) -> Measure:
    """What a word of degree measures: None of a thing that does not tell it, or tells several."""
    match degree.of:
        case "money":
            return price_of
        case "moment":
            return moment_or_year
        case "size":
            return lambda row: _of_unit(_SIZE, row) or number_of_thing(row)
        case "duration":
            return _how_long
        case dimension:
            return lambda row: _of_unit(dimension, row)


def measured_field(degree: Degree, row: Row) -> Told | None:
    """The field by which a thing is measured so, to be told with it."""
    measure = measure_by(degree)
    value = measure(row)
    fields = [told for told in row if measure([told]) == value]
    return fields[0] if value is not None and fields else None


def number_of_thing(row: Row) -> Decimal | None:
    """The only number or amount that a thing has."""
    found = [told for told in row if told.sort in COUNTED and not told.is_bookkeeping]
    if len(found) != 1:
        return None
    value = found[0].value if found[0].sort == "number" else found[0].said.split()[0]
    return Decimal(str(value).replace(",", ""))


def number_called(nouns: Set[str], row: Row) -> Decimal | None:
    """The only one that is called so, by stems."""
    return number_of_thing([told for told in row if nouns & {stem(word) for word in told.words}])


def currency_of(row: Row) -> str:
    """The currency of its first amount; empty where it has none."""
    money = next((money_of(told.value) for told in row if told.sort == "money"), None)
    return money.currency if money is not None else ""


def price_of(row: Row) -> Decimal | None:
    """Its only amount of money."""
    moneys = [told for told in row if told.sort == "money"]
    if len(moneys) != 1:
        return None
    return Decimal(moneys[0].said.split()[0].replace(",", ""))


def rating_of(row: Row) -> Decimal | None:
    """How it is rated."""
    rated = [t for t in row if t.sort == "number" and set(t.words) & lexicon.RATING]
    return Decimal(str(rated[0].value)) if len(rated) == 1 else None


def moment_of(row: Row, since: datetime | None = None) -> Decimal | None:
    """When it is; None of what has been, where only what is to come counts."""
    moments = [told for told in row if told.sort in ("moment", "date")]
    kept = [told for told in moments if not told.is_bookkeeping] or moments
    if not kept:
        return None
    moment = datetime.fromisoformat(str(kept[0].value))
    clock = next((told for told in row if told.sort == "time"), None)
    if kept[0].sort == "date" and clock is not None:
        moment = datetime.fromisoformat(f"{kept[0].value}T{str(clock.value)[:5]}")
    at = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    is_past = since is not None and (
        date(at.year, at.month, at.day) < since.date() if kept[0].sort == "date" else at < since
    )
    return None if is_past else Decimal(str(at.timestamp()))


def moment_or_year(row: Row) -> Decimal | None:
    """When it is or was; where only a year is told, that."""
    if any(told.sort in ("moment", "date") for told in row):
        return moment_of(row)
    years = [told.year for told in row if told.year is not None]
    return Decimal(years[0]) if len(years) == 1 else None


def _of_unit(dimension: str, row: Row) -> Decimal | None:
    """The only number that is counted in a unit of a dimension."""
    found = [t for t in row if t.sort == "number" and t.unit.startswith(f"{dimension}-")]
    if len(found) != 1 or found[0].until is not None:
        return None
    return Decimal(str(found[0].value))


def _how_long(row: Row) -> Decimal | None:
    """How long it takes, in its own unit; of what begins and ends, how long that is."""
    counted = [t for t in row if t.sort == "number" and t.unit.startswith(("duration-", "night"))]
    if counted:
        return Decimal(str(counted[0].value)) if len(counted) == 1 else None
    stretches = [t for t in row if t.until is not None and t.sort in ("time", "moment", "date")]
    if len(stretches) != 1:
        return None
    (one,) = stretches
    if isinstance(one.until, int | float):
        return Decimal(str(one.until))
    begin, end = (_at(str(text), one.sort) for text in (one.value, one.until))
    return None if end < begin else Decimal(str((end - begin).total_seconds()))


def _at(text: str, sort: str) -> datetime:
    at = datetime.fromisoformat(f"{_DAYS_OF_ALL}T{text}" if sort == "time" else text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
