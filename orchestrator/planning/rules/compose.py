"""Texts and search phrases that a tool takes and nobody wrote, from the clause and the facts."""

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language import lexicon
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action
from orchestrator.language.words import action_of, tokens
from orchestrator.planning.rules.fact_sources import Known
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.phrase import object_phrase, told_text
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.utterance import Said
from orchestrator.planning.rules.wording import clause_title, cut_to, join_sentences, line, report

_MATTER = re.compile(r"\b(?:to|about|regarding)\s+(?P<matter>.+)$", re.IGNORECASE | re.DOTALL)
_POINTS_BACK: Final = lexicon.words_of("it that this them those these both everything all")
_MAX_TEXT: Final = 2000
_MAX_TITLE: Final = 120


def composed(parameter: Parameter, tool: Tool, situation: Situation) -> str | None:
    """A text for an input that takes free words; None when there is nothing to say."""
    match parameter.kind:
        case Kind.QUERY:
            return _fitted(parameter, search_phrase(parameter, tool, situation), _MAX_TITLE)
        case Kind.TEXT:
            return _fitted(parameter, _message(parameter, situation), _MAX_TEXT)
        case Kind.TITLE if parameter.words[-1] != "name":
            return _fitted(parameter, _title(situation), _MAX_TITLE)
        case Kind.TITLE if not tool.is_side_effect and parameter.required:
            return _fitted(parameter, search_phrase(parameter, tool, situation), _MAX_TITLE)
        case _:
            return None


def search_phrase(parameter: Parameter, tool: Tool, situation: Situation) -> str:
    """What to search for: the thing the clause, or else an earlier one, acts on or is about."""
    described = set(tokens(str(parameter.schema.get("description", ""))))
    for said in (situation.said, *situation.around):
        places = said.of("place", "origin")
        if places and described & lexicon.PLACE_TOLD:
            return str(places[0].value)
        phrase = object_phrase(said, generic=generic_words(tool), topic_first=_is_search(said))
        if phrase:
            return phrase
    return ""


def generic_words(tool: Tool) -> frozenset[str]:
    """Words that name what the tool always deals in, and so single out nothing."""
    lists = tool.output_schema.get("properties") if tool.output_schema else None
    named = " ".join(lists) if isinstance(lists, dict) else ""
    return frozenset(tokens(f"{tool.domain} {tool.name} {named}"))


def _is_search(said: Said) -> bool:
    first = tokens(without_lead(said.text))[:2]
    verb, following = (*first, "", "")[:2]
    return action_of(verb, following) in (Action.SEARCH, Action.READ, Action.UNKNOWN)


def _message(parameter: Parameter, situation: Situation) -> str:
    if told := told_text(situation.said):
        return told
    if reports := join_sentences(report(k.fact, k.tool) for k in _worth_telling(situation)):
        return f"{reports}."
    if set(parameter.words) & {"description", "purpose", "reason", "justification"}:
        return clause_title(situation.said.text)
    match = _MATTER.search(situation.said.text)
    matter = match["matter"].strip(" .") if match else ""
    return "" if matter.lower() in _POINTS_BACK else matter[:1].upper() + matter[1:]


def _title(situation: Situation) -> str:
    if quoted := situation.said.of("quoted"):
        return str(quoted[0].value)
    told = (line(k.fact, k.tool, most=1) for k in _worth_telling(situation))
    return join_sentences(dict.fromkeys(told)) or clause_title(situation.said.text)


def _worth_telling(situation: Situation) -> Iterator[Known]:
    """What was done; when nothing was, what was found out."""
    done = [k for k in situation.known if k.fact.side_effect]
    yield from done or situation.known


def _fitted(parameter: Parameter, text: str, most: int) -> str | None:
    """The text cut to what the schema allows; None when it is empty or still not allowed."""
    limit = parameter.schema.get("maxLength")
    size = min(limit, most) if isinstance(limit, int) else most
    cut = cut_to(text, size)
    return cut if cut and parameter.accepts(cut) else None
