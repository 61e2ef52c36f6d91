"""What was searched for in vain: filters that were left out then, and what a call goes on about.

Who looks for a vegetarian restaurant and finds none does not mean any restaurant: what was found
without a filter is taken only when a person says so. Nor does who wants somebody told that "it is
ready" mean that they are told so of what was not found.
"""

import re

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.said import quoted_spans, told_in
from orchestrator.planning.matching.offered import offered, readable_thing
from orchestrator.planning.matching.taken import FinderAnswer, Link, TakenCall
from orchestrator.planning.matching.value_forms import plain_words
from orchestrator.planning.models import Doubt
from orchestrator.planning.rules.widening import filters_told, left_out_of
from orchestrator.saga.judged import is_empty


def doubts_of_filters(call: TakenCall) -> tuple[Doubt, ...]:
    """The filters that nothing was found with, and that what the call takes was found without.

    Words of a text that the call passes on as it was said are none: they describe nothing that is
    looked for, whatever somebody searched by them.
    """
    if call.hints or any(call.chosen_by_people):
        return ()
    passed_on = _passed_on(call)
    for link in call.links:
        for answer in call.answers if link.finder is not None else ():
            left = {
                name: value
                for name, value in _left_out(link, answer).items()
                if not passed_on or not plain_words(str(value)) <= passed_on
            }
            if left and not _bears(link, left, call.clause):
                return (_doubt(link, left),)
    return ()


def doubts_of_nothing(call: TakenCall) -> tuple[Doubt, ...]:
    """What the call goes on about, and a leg before it has looked up in vain."""
    if call.hints:
        return ()
    looked = {_looked_for(answer): answer.title for answer in call.found_nothing}
    return tuple(
        Doubt(
            kind="not_matched",
            about=told,
            why=f"{title!r} found nothing, and this goes on about what it was to find",
        )
        for told, title in looked.items()
    )


def _looked_for(answer: FinderAnswer) -> str:
    return filters_told(answer.arguments) or answer.title


def _passed_on(call: TakenCall) -> set[str]:
    """The words of what is quoted or told in the clause, and goes into an argument as it is."""
    said = {call.clause[start + 1 : end - 1] for start, end in quoted_spans(call.clause)}
    said |= {told_in(call.clause) or ""}
    sent = (value for value in call.arguments.values() if isinstance(value, str))
    return {word for text in sent if text in said for word in plain_words(text)}


def _left_out(link: Link, answer: FinderAnswer) -> JsonObject:
    if _name(answer.finder) != _name(link.finder) or not is_empty(answer.body):
        return {}
    return left_out_of(link.asked, answer.arguments)


def _name(finder: Tool | None) -> str:
    return finder.name if finder is not None else ""


def _bears(link: Link, left: JsonObject, clause: str) -> bool:
    """Whether the thing says all the same what was searched for.

    What it is called may have been searched for as its city: "at Central" is at a thing, and "in
    Central" in a city.
    """
    texts = {value.casefold() for value in link.item.values() if isinstance(value, str)}
    return all(
        link.item.get(name) == value
        or (str(value).casefold() in texts and _is_at(str(value), clause))
        for name, value in left.items()
    )


def _is_at(place: str, clause: str) -> bool:
    return re.search(rf"\bat\s+(?:the\s+)?{re.escape(place)}\b", clause, re.IGNORECASE) is not None


def _doubt(link: Link, left: JsonObject) -> Doubt:
    told = filters_told(left)
    taken = readable_thing(link.item)
    return Doubt(
        kind="not_matched",
        about=told,
        why=f"nothing was found with {told}; without that, {taken!r} would be taken",
        choices=offered(link.others),
    )
