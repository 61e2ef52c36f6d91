"""Two things of a list that a question compares: "is the Otter heavier than the Heron"."""

from collections.abc import Sequence
from decimal import Decimal

from orchestrator.language.degrees import Comparison, comparison_in
from orchestrator.language.words import content_stems, stem
from orchestrator.planning.rules.telling.inquiry import DULL, Inquiry
from orchestrator.planning.rules.telling.measures import (
    Row,
    currency_of,
    measure_by,
    measured_field,
)


def compared(things: Sequence[Row], question: Inquiry) -> str:
    """The answer, with what both are by that measure; empty where none is compared, or told.

    Each of the two must name one thing alone, and both must say by one field what is compared.
    """
    asked = comparison_in(question.said.text)
    if asked is None:
        return ""
    one, other = (_named(words, things, question) for words in (asked.one, asked.other))
    if one is None or other is None or one is other or currency_of(one) != currency_of(other):
        return ""
    for degree in asked.degrees:
        first, second = (measure_by(degree)(row) for row in (one, other))
        fields = [measured_field(degree, row) for row in (one, other)]
        if first is None or second is None:
            continue
        both = zip((one, other), fields, strict=True)
        said = [f"{_title(row)}, {told.phrase}" for row, told in both if told]
        is_so = (first - second) * degree.sign
        return f"{_verdict(asked, is_so, one, other)}{'; '.join(said)}."
    return ""


def not_compared(question: Inquiry) -> str:
    """A sentence that nothing tells what is compared; empty where nothing is."""
    asked = comparison_in(question.said.text)
    return f" Nothing here tells which of them is {asked.word}." if asked is not None else ""


def _named(words: str, things: Sequence[Row], question: Inquiry) -> Row | None:
    """The one thing whose texts hold all words of a name; what all are called names none."""
    wanted = {*content_stems(words)} - question.dull - {stem(word) for word in DULL}
    held = [row for row in things if wanted <= _stems(row)]
    return held[0] if wanted and len(held) == 1 else None


def _stems(row: Row) -> set[str]:
    return {s for told in row if told.sort == "text" for s in content_stems(str(told.value))}


def _title(row: Row) -> str:
    texts = [told for told in row if told.sort == "text" and not told.is_id and not told.options]
    title = next((told for told in texts if told.is_title), None)
    return (title or next(iter(texts), row[0])).said


def _verdict(asked: Comparison, is_so: Decimal, one: Row, other: Row) -> str:
    if not is_so:
        return f"{'No, both' if asked.is_whether else 'Both'} are alike: "
    if asked.is_whether:
        return "Yes: " if is_so > 0 else "No: "
    return f"{_title(one if is_so > 0 else other)} is {asked.word}: "
