"""What a reading tool answered, told as a person would: a sentence, and a table of several."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.owing import side_of, who_owes
from orchestrator.language.synonyms import equals_of
from orchestrator.language.words import content_stems, is_verb, stem, tokens
from orchestrator.planning.models import AnswerTable
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.planning.rules.telling.bearing import (
    Borne,
    bears,
    borne,
    in_words,
    named,
    not_told,
    options_asked,
    says_whether,
)
from orchestrator.planning.rules.telling.circumstances import circumstances
from orchestrator.planning.rules.telling.comparisons import compared, not_compared
from orchestrator.planning.rules.telling.found import Found, is_echo, take_apart
from orchestrator.planning.rules.telling.inquiry import Inquiry
from orchestrator.planning.rules.telling.restrictions import restrictions
from orchestrator.planning.rules.telling.spoken_values import said_day
from orchestrator.planning.rules.telling.superlatives import (
    asks_for_best,
    best_of,
    most_of,
    said_amount,
    total_of,
    untold_best,
)
from orchestrator.planning.rules.telling.table import columns_of, table_of_things
from orchestrator.planning.rules.telling.told_field import Told, said_value
from orchestrator.planning.rules.tool_words import is_named, schema_words, vocabulary
from orchestrator.planning.rules.utterance import Utterance

_MOST_NAMED: Final = 3
_MOST_PARTS: Final = 3
_MOST_DETAILS: Final = 10
_TWO_NAMES: Final = re.compile(r"(?:[A-Z][\w'.-]*\s+){1,3}[A-Z][\w'-]+")
_BOUNDS: Final = lexicon.MAXIMUM | lexicon.MINIMUM
_PREPOSITIONS: Final = frozenset(
    {"to", "for", "from", "in", "at", "with", "on", "of", "by", "against", "between"}
)
_LEADS: Final = frozenset({"whether", "how", "what", "who", "when", "where"})
_ARTICLES: Final = frozenset({"a", "an", "the", "one", "your"})


@dataclass(frozen=True)
class Telling:
    """An answer as it is told."""

    sentence: str
    table: AnswerTable | None = None

    def and_then(self, sentence: str) -> "Telling":
        """It, with one more sentence."""
        return replace(self, sentence=f"{self.sentence}{sentence}")


def needs_all(tool: Tool, arguments: JsonObject, said: Utterance) -> bool:
    """Whether all that a tool lists has to be seen to answer a request: which, how many, the most.

    A request for the list alone is answered by its first page.
    """
    question = Inquiry(said, arguments, frozenset(content_stems(f"{tool.name} {tool.domain}")))
    return bool(
        question.asked_kind == "count"
        or question.asks_for_sum
        or question.asks_for_average
        or asks_for_best(question)
        or question.denied_words
        or question.implied_denials
        or question.unasked
        or question.telling_apart
        or restrictions(question)
    )


def tell(
    tool: Tool, arguments: JsonObject, body: JsonValue, said: Utterance, *, is_whole: bool = False
) -> Telling:
    """What a call of a reading tool found, for who asked it with these words.

    Args:
        tool: that was called.
        arguments: of the call.
        body: what it answered; of several pages, all.
        said: the request.
        is_whole: whether there is no other page.
    """
    if (received := ReceivedFile.told_by(body)) is not None:
        around, _ = circumstances(tool, arguments, said.now)
        named = received.name or received.content_type or "a file"
        kept = f"{named}, {received.size_bytes:,} bytes ({received.handle})"
        return Telling(f"{_subject(tool)}{around}: {kept}.")
    found = take_apart(tool, arguments, body, said.now)
    found = replace(found, is_cut=found.is_cut and not is_whole)
    dull = {word for text in (tool.name, tool.domain, found.noun) for word in content_stems(text)}
    question = Inquiry(said, _heeded(tool, arguments, found), frozenset(dull))
    around, rest = circumstances(tool, arguments, said.now)
    unspoken = _unspoken(tool, found, question) + _of_the_other_side(found, question)
    if found.is_listing:
        is_sure = question.asks_for_any and question.is_covered(*_speaking(tool), found.noun)
        # What was searched for by its words may be there, and be called otherwise.
        is_sure = is_sure and not any(
            p.kind is Kind.QUERY and p.name in arguments for p in tool_parameters(tool)
        )
        return _listing(tool, found, question, around, rest, is_sure=is_sure).and_then(unspoken)
    told = [t for t in found.own if not t.is_id]
    if not told and not found.things:
        told = list(found.echoed)
    if not told and not found.things:
        said_plainly = said_value(body, said.now) or "nothing was found"
        return Telling(f"{_subject(tool)}{around}: {said_plainly.rstrip('.')}.{unspoken}")
    return _one(tool, found, told, question, around, rest).and_then(unspoken)


def _heeded(tool: Tool, arguments: JsonObject, found: Found) -> JsonObject:
    """The arguments that all that was found bears: a search by words finds what is alike, too."""
    loose = set()
    for name in (p.name for p in tool_parameters(tool) if p.kind is Kind.QUERY):
        value = str(arguments.get(name, "")).casefold()
        bearing = [thing for thing in found.things if any(bears(told, value) for told in thing)]
        if 0 < len(bearing) < len(found.things):
            loose.add(name)
    return {name: value for name, value in arguments.items() if name not in loose}


def _of_the_other_side(found: Found, question: Inquiry) -> str:
    """A sentence where what was found is paid by the others, and not by whom it was asked of."""
    asked = who_owes(question.said.text)
    fields = [told for thing in found.things for told in thing]
    named = (told for told in fields if told.sort == "text" and not told.options)
    side = side_of(frozenset(word for told in named for word in told.words))
    if asked is None or side in (None, asked) or not any(told.sort == "money" for told in fields):
        return ""
    return f" This is what {'we have' if side == 'us' else 'others have'} to pay."


def names_borne(tool: Tool, arguments: JsonObject, body: JsonValue, said: Utterance) -> Borne:
    """What of that by which a request names things is in the answer of a call."""
    found = take_apart(tool, arguments, body, said.now)
    own = vocabulary(tool) | schema_words(tool) | {*content_stems(found.noun)}
    things = [*found.things, (*found.own, *found.echoed)]
    return borne(things, Inquiry(said, arguments, own), own)


def the_one_told(
    tool: Tool, arguments: JsonObject, body: JsonValue, said: Utterance
) -> JsonObject | None:
    """The thing that an answer told of, as the one of several that a request means; mostly None.

    The one that bears what the request says, or that is the most of what it asks for.
    """
    found = take_apart(tool, arguments, body, said.now)
    dull = frozenset(content_stems(f"{tool.name} {tool.domain} {found.noun}"))
    question = Inquiry(said, arguments, dull)
    meant, _, is_none = named(found.things, question)
    if is_none or len(found.things) < 2:
        return None
    best = best_of(meant, question) if len(meant) > 1 else None
    if best is not None and len(best.places) == 1:
        meant = [meant[best.places[0]]]
    if len(meant) != 1:
        return None
    at = next(n for n, thing in enumerate(found.things) if thing is meant[0])
    return found.members[at]


def number_found(tool: Tool, arguments: JsonObject, body: JsonValue, said: Utterance) -> str:
    """How many things a call found, and what they are called: "3 loans", "no loans"."""
    found = take_apart(tool, arguments, body, said.now)
    return f"{len(found.things) or 'no'} {found.nouns(len(found.things))}"


def _unspoken(tool: Tool, found: Found, question: Inquiry) -> str:
    """A sentence about what the request names, and neither the tool nor the answer speaks of."""
    every = (*found.own, *found.echoed, *(told for thing in found.things for told in thing))
    words = {word for told in every for word in (*told.words, *told.options, str(told.value))}
    words |= {f"un{word}" for told in every for word in (*told.words, *told.options)}
    left = question.unspoken(*_speaking(tool), *tool.examples, *tool.intent_tags, *words)
    if found.is_listing and not found.things:
        left = [text for text in left if text not in question.telling_apart]  # none are so
    said = f" Nothing here speaks of {' and '.join(map(repr, left))}." if left else ""
    if not (found.is_listing and found.things):
        return said
    kept = [word for word in _borne_by_none(tool, found, question) if word not in left]
    return said + (f" None of them says {' or '.join(map(repr, kept))}." if kept else "")


def _borne_by_none(tool: Tool, found: Found, question: Inquiry) -> list[str]:
    """What is said of the things that are meant, and none of them says: "the cheapest pizza"."""
    every = [told for thing in found.things for told in thing]
    words = {word for told in every for word in (*told.words, *told.options, str(told.value))}
    # What only the description of the tool speaks of may be in other things that it could list.
    own = {stem for text in (*_naming(tool), found.noun, *words) for stem in content_stems(text)}
    said = ((word, stem(word)) for word in question.circumstances)
    return [word for word, root in said if own.isdisjoint((root, *equals_of(root)))]


def _naming(tool: Tool) -> tuple[str, ...]:
    """The texts that say what the things are that a tool lists, and by what they are searched."""
    return (tool.name, tool.summary, tool.domain, *tool.properties)


def _speaking(tool: Tool) -> tuple[str, ...]:
    """The texts that say what a tool gives."""
    return (tool.name, tool.summary, tool.description, tool.domain, *tool.properties)


# -- several things -------------------------------------------------------------------------------


def _listing(
    tool: Tool, found: Found, question: Inquiry, around: str, rest: str, *, is_sure: bool
) -> Telling:
    number = len(found.things)
    if not number:
        looked_for = f" ({rest})" if rest else ""
        if not is_named(tool, question.naming, found.noun):
            only = f"Only {found.noun}{around}{looked_for} were looked up"
            return Telling(f"{only}: none were found.")
        no = "No: no" if is_sure else "No"
        return Telling(f"{no} {found.noun}{around}{looked_for} were found.")
    if compared_two := compared(found.things, question):
        return Telling(compared_two, table_of_things(found.things))
    meant, note, is_none = named(found.things, question)
    table = table_of_things(found.things)
    untold = not_told(found.things, question) + _not_looked_up(question)
    if not (untold and question.may_ask_for_sum):
        untold += _sum_of(meant, question, is_cut=found.is_cut)
    of_all = f" of {found.total}" if found.total > number else ""
    by = f" ({rest})" if rest else ""
    counted = f"{number}{of_all} {found.nouns(found.total or number)}{around}{by}"
    yes = "Yes, " if is_sure and not (note or untold) else ""
    note += ", and there may be more" if found.is_cut else ""
    most = "" if found.is_cut else most_of(meant, question, found.noun)
    is_other = is_none or bool(most or _borne_by_none(tool, found, question))
    best = best_of(meant, question) if len(meant) > 1 and not is_other else None
    note += most
    if (
        not most
        and len(meant) > 1
        and best is None
        and not is_other
        and (asked := untold_best(question))
    ):
        untold += f" Nothing here tells which of them is the {asked!r}."
    untold += not_compared(question)
    untold += _untold_kind(found.things, question)
    if best is not None and len(best.places) > 1:
        them = [meant[place] for place in best.places]
        said = f"The {best.word} of {counted}{note}"
        return Telling(f"{said}: {_listed(them, found.things, question)}.{untold}", table)
    if len(meant) == 1 or best is not None:
        one = meant[best.places[0]] if best is not None else meant[0]
        yes = yes or _so(one, question)
        head = f"The {best.word} of {counted}" if best is not None else f"{yes}{counted}"
        told = [t for t in one if not t.is_id and not t.is_bookkeeping]
        told = [t for t in told if not is_echo(t, question.arguments)] or told
        parts, sentences = _thing(told, question)
        said = ", ".join(parts + [text.rstrip(".") for text in sentences])
        return Telling(f"{head}{note}: {said or 'no more is told'}.{untold}", table)
    return Telling(
        f"{yes}{counted}{note}: {_listed(meant, found.things, question)}.{untold}", table
    )


def _so(thing: Sequence[Told], question: Inquiry) -> str:
    """Yes or no, where it is asked of one thing whether it is in a state that a field lists.

    Or whether it has what one field of its says yes or no to.
    """
    flags = [told for told in thing if told.sort == "flag" and question.speaks_of(told)]
    if question.is_of_one and len(flags) == 1:
        return "Yes. " if flags[0].value else "No. "
    left = [told for told in thing if says_whether(told, question)]
    if question.names_one and len(left) == 1:
        return "Yes. " if left[0].value else "No. "
    for told in thing:
        listed = {stem(option.casefold()) for option in told.options}
        if question.is_yes_or_no and question.predicate in listed:
            return "Yes. " if stem(str(told.value).casefold()) == question.predicate else "No. "
    return ""


def _untold_kind(things: Sequence[Sequence[Told]], question: Inquiry) -> str:
    """A sentence about the kind of value that is asked for, where no field is of that kind."""
    asked, told = question.untold_kind, [field for thing in things for field in thing]
    if not asked or any(question.asks_for(t) or t.until or _may_name(t, question) for t in told):
        return ""
    if any(t.sort == "text" and question.speaks_of(t, at_all=True) for t in told):
        return ""  # "who coaches karate" is told by the coach
    return f" Nothing here tells {asked}."


def _may_name(told: Told, question: Inquiry) -> bool:
    """Whether it may be the name of whom a request asks for."""
    is_text = told.sort == "text" and not told.options
    is_called = "name" in told.words or _TWO_NAMES.fullmatch(str(told.value)) is not None
    return question.asked_kind == "person" and is_text and is_called


def _not_looked_up(question: Inquiry) -> str:
    """A sentence about the days of the request that the call was not for."""
    left = [said_day(day, question.said.now) for day in question.days_left]
    return f" Not looked up: {', '.join(left)}." if left else ""


def _sum_of(things: Sequence[tuple[Told, ...]], question: Inquiry, *, is_cut: bool) -> str:
    """A sentence with what the amounts of the things come to, where that was asked for."""
    if not (question.asks_for_sum or question.asks_for_average):
        return ""
    counted = [thing for thing in things if not any(told.is_over for told in thing)] or things
    total = total_of(counted)
    if len(things) == 1 and total is not None:
        return ""
    if total is None and question.may_ask_for_sum:
        return ""
    if total is None:
        return " Nothing here tells one amount of each, in one currency, to add up."
    if question.asks_for_average:
        each = total.model_copy(update={"amount": total.amount / len(counted)})
        return f" On average {'those listed' if is_cut else 'they'} come to {said_amount(each)}."
    over = "" if len(counted) == len(things) else ", without those that are no more"
    they = "Those listed come" if is_cut else "Together they come"
    return f" {they} to {said_amount(total)}{over}."


def _listed(
    named: Sequence[tuple[Told, ...]], things: Sequence[tuple[Told, ...]], question: Inquiry
) -> str:
    every = [t for thing in things for t in thing if not (t.is_id or t.is_bookkeeping)]
    every = [told for told in every if not is_echo(told, question.arguments)]
    wanted = [told for told in every if question.asks_for(told)]
    wanted = wanted or [told for told in every if question.speaks_of(told)]
    asked = [*dict.fromkeys(told.name for told in wanted)][:_MOST_PARTS]
    columns = {*columns_of(things, _MOST_PARTS), *asked}
    brief = [", ".join(_brief(t) for t in thing if t.name in columns) for thing in named]
    shown = [text for text in brief[:_MOST_NAMED] if text]
    separator = "; " if any("," in text for text in shown) else ", "
    more = len(named) - len(shown)
    return separator.join(shown) + (f" and {more} more" if more > 0 else "")


def _brief(told: Told) -> str:
    """One field of one thing of several; a bare number is named, and an amount that is a limit."""
    is_bound = told.sort == "money" and not _BOUNDS.isdisjoint(told.words)
    return told.phrase if told.sort in ("number", "flag") or is_bound else told.said.rstrip(".")


# -- one thing ------------------------------------------------------------------------------------


def _one(
    tool: Tool, found: Found, told: list[Told], question: Inquiry, around: str, rest: str
) -> Telling:
    if " on " not in around and (day := next((t for t in told if _is_its_day(t)), None)):
        told, around = [t for t in told if t is not day], f"{around} on {day.said}"
    parts, sentences = _thing(told, question)
    if found.things:
        parts.append(f"{len(found.things)} {found.nouns(len(found.things))}")
    about = f"{_subject(tool)}{around}" + (f" ({rest})" if rest else "")
    verdict = _verdict(tool, told, question)
    said = " ".join([f"{verdict}{about}: {', '.join(parts)}." if parts else "", *sentences])
    said = (said.strip() or f"{about}.") + _untold(found, question)
    said += _untold_kind([[*found.own, *found.echoed], *found.things], question)
    return Telling(said, table_of_things(found.things))


def _untold(found: Found, question: Inquiry) -> str:
    """A sentence about days and places of the request of which the answer says nothing."""
    every = (*found.own, *found.echoed, *(told for thing in found.things for told in thing))
    left = [
        in_words(slot, question).removeprefix("on ")
        for slot in question.unasked
        if slot.kind in ("date", "place", "origin")
        and slot.value != question.said.now.date().isoformat()
        and not any(bears(told, str(slot.value).casefold()) for told in every)
    ]
    wanted = (one for one in restrictions(question) if not one.was_sent)
    left += [one.text for one in wanted if one.holds(every) is not True]
    left += [said_day(day, question.said.now) for day in question.days_left]
    return f" This says nothing of {' and '.join(left)}." if left else ""


def _is_its_day(told: Told) -> bool:
    return told.sort == "date" and told.words == ("date",)


def _thing(told: Sequence[Told], question: Inquiry) -> tuple[list[str], list[str]]:
    """The fields of one thing, what was asked for at the head; and those that are sentences."""
    asked = [t for t in told if question.asks_for(t)] or [t for t in told if question.speaks_of(t)]
    if len(asked) == len(told):
        asked = []
    ordered = [*asked, *(t for t in told if t not in asked and not t.is_bookkeeping)]
    kept = ordered[:_MOST_DETAILS]
    parts = [t.phrase.rstrip(".") for t in kept if not _is_sentence(t)]
    return parts, [t.said for t in kept if _is_sentence(t)]


def _is_sentence(told: Told) -> bool:
    return told.sort == "text" and told.said.endswith((".", "!")) and told.said.count(" ") > 1


def _verdict(tool: Tool, told: Sequence[Told], question: Inquiry) -> str:
    """A yes or a no where one field alone is what was asked about; else nothing."""
    if not question.is_yes_or_no:
        return ""
    about = [t for t in told if question.speaks_of(t) or options_asked(t, question)]
    flags = [t for t in told if t.sort == "flag"]
    if not about and len(flags) == 1:
        about = [t for t in flags if question.speaks_of(t, at_all=True)]
    if len(about) != 1 or not question.is_covered(
        *_speaking(tool), *about[0].words, *about[0].options
    ):
        return ""
    (one,) = about
    if isinstance(one.value, bool):
        return "Yes. " if one.value else "No. "
    asked = options_asked(one, question)
    if len(asked) != 1:
        return ""
    return "Yes. " if asked[0] == str(one.value) else "No. "


def _subject(tool: Tool) -> str:
    """What a tool shows, in its own words: "Weather forecast"."""
    words = tool.summary.split(".")[0].split()[1:]
    if not words or words[0].lower() in _LEADS:
        words = _named_by(tool)
    cut = next((n for n, w in enumerate(words) if w.lower() in _PREPOSITIONS and n), len(words))
    kept = [word for word in words[:cut] if word.lower() not in _ARTICLES]
    text = " ".join(kept) or " ".join(tokens(tool.name))
    return text[:1].upper() + text[1:]


def _named_by(tool: Tool) -> list[str]:
    """The nouns of a tool's name, its domain left out where two others say what it is."""
    nouns = list(dict.fromkeys(word for word in tokens(tool.name) if not is_verb(word)))
    domain = {singular(word) for word in tokens(tool.domain)}
    rest = [word for word in nouns if singular(word) not in domain]
    return rest if len(rest) > 1 else nouns
