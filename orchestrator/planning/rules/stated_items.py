"""A list of things with amounts, such as what an expense report holds, out of one clause."""

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Slot
from orchestrator.language.words import STOP_WORDS, stem
from orchestrator.planning.rules.amounts import money_said
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.tool_words import generic_words
from orchestrator.planning.rules.utterance import WORD, Utterance, read_utterance
from orchestrator.planning.rules.utterance_sources import may_fill_optional, value_from_utterances
from orchestrator.planning.trimming import cut_text

_FOR: Final = re.compile(
    r"\s+(?:for|on)\s+(?P<what>\S.*?)(?:\s*,|\s*,?\s+(?:and|plus|&))?\s*[.!]?\s*",
    re.IGNORECASE | re.DOTALL,
)
"""What an amount is for, up to the next one."""
_OPENS: Final = re.compile(r"\s+(?:for|on)\s+", re.IGNORECASE)
_OF: Final = re.compile(
    r"(?:\s*,)?\s*(?:(?:and|plus|&)\s+)?(?P<what>[^\W\d][^\d,]*?)(?:\s*[,:]|\s+(?:at|of|for))?\s*",
    re.IGNORECASE,
)
"""What stands between two amounts, where it is what the second one is for."""
_MAX_NAME: Final = 200


def items_stated(parameter: Parameter, tool: Tool, utterance: Utterance) -> JsonValue:
    """A list of what the clause gives amounts of; None where it gives none.

    Of several amounts each has to say itself what it is for, "40 EUR for a taxi and 20 EUR for
    lunch": else nobody can tell by rules which belongs to what, and they are asked about.
    """
    element = parameter.element
    if element is None or element.kind is not Kind.OBJECT:
        return None
    holds_money = any(f.required and f.kind in (Kind.AMOUNT, Kind.MONEY) for f in element.fields)
    if not holds_money:
        return None
    apart = _of_each_amount(utterance)
    items: list[JsonValue] = [i for one in apart if (i := _item(element, tool, one)) is not None]
    whole = bool(apart) and len(items) == len(apart)
    return items if whole and parameter.accepts(items) else None


def _of_each_amount(utterance: Utterance) -> list[Utterance]:
    """The clause for each of its amounts; none where one of several does not say what it is for."""
    amounts = [slot for slot in utterance.of("amount") if money_said(slot)]
    if len(amounts) < 2:
        return [utterance for _ in amounts]
    text = utterance.text
    lead = text[: amounts[0].position]
    whats = _behind(text, amounts)
    if not whats:
        lead, *whats = _before(text, amounts)
    told = (f"{lead}{slot.text} for {what}" for slot, what in zip(amounts, whats, strict=False))
    return [read_utterance(one, now=utterance.now) for one in told]


def _behind(text: str, amounts: Sequence[Slot]) -> list[str]:
    """What each is for, where that stands behind it: "40 EUR for a taxi and 20 EUR for lunch"."""
    ends = [*(slot.position for slot in amounts[1:]), len(text)]
    pairs = zip(amounts, ends, strict=True)
    own = [_FOR.fullmatch(text[slot.position + len(slot.text) : end]) for slot, end in pairs]
    return [match["what"] for match in own if match] if all(own) else []


def _before(text: str, amounts: Sequence[Slot]) -> list[str]:
    """What comes before all, and what each is for, where that stands before it.

    "For a taxi, 40 EUR, and lunch, 20 EUR"; of "for dinner for two" nobody knows what it is for.
    """
    lead, *rest = _OPENS.split(text[: amounts[0].position])
    if len(rest) != 1 or text[amounts[-1].position + len(amounts[-1].text) :].strip(" .!"):
        return [""]
    starts = [slot.position + len(slot.text) for slot in amounts]
    between = [text[a : b.position] for a, b in zip(starts, amounts[1:], strict=False)]
    own = [_OF.fullmatch(part) for part in (rest[0], *between)]
    return [f"{lead} ", *(match["what"] for match in own if match)] if all(own) else [""]


def paid_for(utterance: Utterance, tool: Tool) -> str:
    """What the amount is for: "lunch with a client" of "an expense of 42 EUR for lunch ..."."""
    text = utterance.text
    for slot in reversed(utterance.of("amount")):
        text = f"{text[: slot.position]} {text[slot.position + len(slot.text) :]}"
    said = {stem(word) for word in generic_words(tool)}
    words = WORD.findall(without_lead(text))[1:]
    while words and _says_nothing(words[0].lower(), said):
        words = words[1:]
    return " ".join(words)


def _says_nothing(word: str, said: set[str]) -> bool:
    return word in STOP_WORDS or word in lexicon.CONNECTING or stem(word) in said


def _item(element: Parameter, tool: Tool, utterance: Utterance) -> JsonObject | None:
    draft = ArgumentDraft(element.fields)
    for field in draft.open_inputs():
        value: JsonValue = None
        if field.required or may_fill_optional(field):
            value = value_from_utterances(field, [utterance], draft)
        if value is None and field.required and field.kind in (Kind.TEXT, Kind.TITLE):
            text = cut_text(paid_for(utterance, tool), field.longest(_MAX_NAME))
            value = field.first_accepted(text[:1].upper() + text[1:])
        draft.add(field, value)
    return None if draft.missing else draft.arguments
