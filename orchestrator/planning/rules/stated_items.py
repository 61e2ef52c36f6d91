"""A list of things with amounts, such as what an expense report holds, out of one clause."""

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.clauses import without_lead
from orchestrator.language.words import STOP_WORDS, stem
from orchestrator.planning.rules.amounts import money_said
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.tool_words import generic_words
from orchestrator.planning.rules.utterance import WORD, Utterance
from orchestrator.planning.rules.utterance_sources import may_fill_optional, value_from_utterances
from orchestrator.planning.trimming import cut_text

_MAX_NAME = 200


def items_stated(parameter: Parameter, tool: Tool, utterance: Utterance) -> JsonValue:
    """A list of the one thing that the clause gives an amount of; None where it is none or several.

    Of several amounts nobody can tell by rules which belongs to what: they are asked about.
    """
    element = parameter.element
    if element is None or element.kind is not Kind.OBJECT:
        return None
    amounts = [money for slot in utterance.of("amount") if (money := money_said(slot))]
    holds_money = any(f.required and f.kind in (Kind.AMOUNT, Kind.MONEY) for f in element.fields)
    if len(amounts) != 1 or not holds_money:
        return None
    item = _item(element, tool, utterance)
    return [item] if item is not None and parameter.accepts([item]) else None


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
