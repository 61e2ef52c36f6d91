"""Texts for inputs that take free words, composed from the clause and the facts."""

import re
from collections.abc import Iterable
from itertools import pairwise, takewhile
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language import lexicon
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import PARTICIPLES, matter_start, told_thing_start
from orchestrator.language.clauses import THAT, without_lead
from orchestrator.language.durations import MINUTES
from orchestrator.language.guests import guests_span
from orchestrator.language.intent import Action
from orchestrator.language.said import told_in
from orchestrator.language.words import STOP_WORDS, action_of, content_stems, stem, tokens
from orchestrator.planning.rules.answers import answer_fields
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.sentences import ARTICLES, report, summary_line
from orchestrator.planning.rules.situation import FactSource, Situation
from orchestrator.planning.rules.telling import tell
from orchestrator.planning.rules.telling.inquiry import DULL
from orchestrator.planning.rules.tool_words import generic_words
from orchestrator.planning.rules.utterance import WORD, Utterance
from orchestrator.planning.trimming import cut_text

_TELLING = re.compile(
    rf"(?:\b(?:{THAT}|saying|says|with\s+the\s+(?:text|words|message|content))\b|:)\s+(?P<rest>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|on|called|named|titled|mentioning|containing)\s+(?P<topic>.+)$",
    re.IGNORECASE,
)
_HELD = re.compile(r"\bwith\s+(?P<thing>[^.,;!?]+)", re.IGNORECASE)
_MATTER = re.compile(r"\b(?:to|about|regarding)\s+(?=(?P<matter>.+)$)", re.I | re.DOTALL)
_LED: Final = re.compile(
    r"\s*\b(?:on|at|for|from|to|until|till|by|starting|of|the)\s+(?:the\s+)?$", re.IGNORECASE
)
"""What leads to a day, a time or a length."""
_PART: Final = re.compile(r"\s+(?:morning|afternoon|evening|night)\b", re.IGNORECASE)
"""The part of a day, behind it: "Friday afternoon"."""
_SAYING: Final = re.compile(r"\b(?:saying|says)\s*:?\s*$", re.IGNORECASE)
_SAYS_NOTHING: Final = re.compile(r"\b(?:is|are|was|were)[\s.!?]*$", re.IGNORECASE)
_MAX_TEXT: Final = 2000
_MAX_TITLE: Final = 120


def composed_text(parameter: Parameter, tool: Tool, situation: Situation) -> str | None:
    """A text for an input that takes free words; None when there is nothing to say."""
    match parameter.kind:
        case Kind.QUERY:
            text, most = search_phrase(parameter, tool, situation), _MAX_TITLE
        case Kind.TEXT:
            text, most = _message(parameter, situation), _MAX_TEXT
        case Kind.TITLE if parameter.words[-1] != "name":
            text, most = _title(situation, tool), _MAX_TITLE
        case Kind.TITLE if not tool.is_side_effect and parameter.required:
            text, most = search_phrase(parameter, tool, situation), _MAX_TITLE
        case Kind.OTHER if parameter.required and _is_what_is_ordered(parameter, tool):
            text, most = _ordered_thing(situation.utterance, tool), _MAX_TITLE
        case _:
            return None
    cut = cut_text(text, parameter.longest(most))
    return cut if cut and parameter.accepts(cut) else None


_WHY: Final = re.compile(r"\b(?:because(?:\s+of)?|due\s+to)\s+(?P<why>\S.*)$", re.IGNORECASE)


def _is_what_is_ordered(parameter: Parameter, tool: Tool) -> bool:
    """Whether the input is the very thing that the tool deals in: "Order a medicine refill"."""
    dealt_in = {*content_stems(tool.summary), *content_stems(tool.name)}
    return {stem(word) for word in parameter.words} <= dealt_in


def _ordered_thing(utterance: Utterance, tool: Tool) -> str:
    """What is ordered, its number and measure aside: "heart tablets" of "two packs of them"."""
    counted = {
        w for s in utterance.of("quantity", "amount", "date", "time") for w in s.text.split()
    }
    dull = {stem(word) for word in generic_words(tool)}
    words = WORD.findall(without_lead(utterance.text))[1:]
    phrase = takewhile(lambda word: word.lower() not in lexicon.CONNECTING - {"of"}, words)
    said = (word for word in phrase if word not in counted and word.lower() not in STOP_WORDS)
    return " ".join(word for word in said if word != "of" and stem(word.lower()) not in dull)


def search_phrase(parameter: Parameter, tool: Tool, situation: Situation) -> str:
    """What to search for: the thing the clause, or else an earlier one, acts on or is about."""
    described = set(tokens(str(parameter.schema.get("description", ""))))
    generic = generic_words(tool) | _qualities(situation.utterance)
    if not situation.utterance.reading.asks_side_effect:
        named = " ".join((*tool.properties, *answer_fields(tool)))
        generic |= DULL | {*tokens(named)}
    for utterance in (situation.utterance, *situation.other_utterances):
        places = utterance.of("place", "origin")
        if places and described & lexicon.PLACE_DESCRIBED:
            return str(places[0].value)
        if phrase := object_phrase(utterance, generic=generic, topic_first=_is_search(utterance)):
            return phrase
    held = _HELD.search(situation.utterance.text) if _is_search(situation.utterance) else None
    words = WORD.findall(held["thing"]) if held else []
    return " ".join(word for word in words if word.lower() not in STOP_WORDS)


def _qualities(utterance: Utterance) -> frozenset[str]:
    """Words that say how things are, and are in none of them: "bigger than", "changed"."""
    words = tokens(utterance.text)
    compared = {word for word, then in pairwise(words) if then == "than"}
    return frozenset({*compared, *(word for word in words if word in PARTICIPLES)})


def object_phrase(
    utterance: Utterance, *, generic: Iterable[str] = (), topic_first: bool = False
) -> str:
    """What the clause's verb acts on, in the few words that a search would take.

    Args:
        utterance: the clause.
        generic: words that name what every answer is ("files" to a file search), left out.
        topic_first: prefer "the budget" in "files about the budget" to "files".
    """
    dull = {stem(word) for word in (*generic, *lexicon.PREFERENCES)}
    thing, topic = (
        " ".join(word for word in words if stem(word.lower()) not in dull)
        for words in (utterance.direct_object, _topic(utterance))
    )
    return (topic or thing) if topic_first else (thing or topic)


def told_text(utterance: Utterance) -> str:
    """The message that the clause spells out: what is quoted, or what somebody is told."""
    told, begun = told_in(utterance.text), matter_start(utterance.text)
    quoted = utterance.of("quoted")
    ends = [slot.position + len(slot.text) for slot in quoted]
    if quoted and (begun is None or any(end > begun for end in ends)):
        return str(quoted[0].value)
    if told is not None:
        if _SAYING.search(utterance.text[: utterance.text.find(told)]):
            return told  # "saying hello" is all of it
        # "Email Ana when it is" tells her nothing that "it is" would.
        says_little = len(told.split()) < 2 or _SAYS_NOTHING.search(told)
        return "" if told.lower().startswith("to ") or says_little else told
    match = _TELLING.search(without_lead(utterance.text))
    rest = match["rest"].strip() if match else ""
    return rest if len(rest.split()) > 1 else ""


def clause_title(clause: str) -> str:
    """A clause as a title: "rent a compact car in Lisbon" is "Compact car in Lisbon"."""
    words = without_lead(clause).split()[1:]
    while words and words[0].lower() in ARTICLES | {"me", "my", "us", "our", "to", "for"}:
        words = words[1:]
    text = " ".join(words).strip(" .,;")
    return text[:1].upper() + text[1:120] if text else clause.strip()


def thing_title(utterance: Utterance, tool: Tool) -> str:
    """What a clause makes, as a title: "put lunch with Maria on Friday at 1 pm in my calendar".

    Its days, times and lengths go into inputs of their own, and where it is put is the tool.
    """
    guests = guests_span(utterance.text)
    text = utterance.text[: guests[0]] if guests else utterance.text
    first = len(text) - len(without_lead(text))
    said = sorted((*utterance.slots, *utterance.unread), key=lambda slot: slot.position)
    for slot in reversed([slot for slot in said if slot.position < len(text)]):
        start, end = slot.position, slot.position + len(slot.text)
        if slot.kind == "quantity" and slot.hint in MINUTES:
            unit = re.match(rf"[\s-]*{re.escape(slot.hint)}\b", text[end:], re.IGNORECASE)
            end += unit.end() if unit else 0
        elif slot.kind not in ("date", "time"):
            continue
        if slot.kind == "date" and (part := _PART.match(text, end)) is not None:
            end = part.end()
        led = _LED.search(text[first:start])
        text = f"{text[: first + led.start() if led else start].rstrip()} {text[end:].lstrip(' ,')}"
    own = "|".join(map(re.escape, sorted(generic_words(tool))))
    text = re.sub(rf",?\s+(?:in|to|on|into)\s+(?:my|the|our)\s+(?:{own})\b", "", text, flags=re.I)
    text = text.rstrip(" .,;?!")
    reading = utterance.reading
    begins = reading.verb == (*tokens(without_lead(text))[:1], "")[0]
    has_verb = begins and reading.action is not Action.UNKNOWN
    return clause_title(text if has_verb else f"add {text}") or clause_title(utterance.text)


def _is_search(utterance: Utterance) -> bool:
    verb, following = (*tokens(without_lead(utterance.text))[:2], "", "")[:2]
    return action_of(verb, following) in (Action.SEARCH, Action.READ, Action.UNKNOWN)


def _topic(utterance: Utterance) -> list[str]:
    if quoted := utterance.of("quoted"):
        return str(quoted[0].value).split()
    match = _TOPIC.search(utterance.text)
    if match is None:
        return []
    values = {w for s in utterance.of("date", "time", "email") for w in s.text.split()}
    ends = {"with", "to", "from", "and"}
    words = WORD.findall(match["topic"])
    topic = takewhile(lambda word: word.lower() not in ends and word not in values, words)
    return [word for word in topic if word.lower() not in STOP_WORDS]


def _message(parameter: Parameter, situation: Situation) -> str:
    clause = situation.utterance.text
    if told := told_text(situation.utterance):
        return told
    if deed := _told_to_do(clause):
        return deed
    known = [one for one in _worth_telling(situation) if _is_told_by(clause, one)]
    if reports := _joined(_told_of(source, situation) for source in known):
        return f"{reports}."
    if set(parameter.words) & {"description", "purpose", "reason", "justification"}:
        why = None if "description" in parameter.words else _WHY.search(clause)
        return clause_title(clause) if why is None else why["why"].strip(" .")
    matter = _matter(situation.utterance)
    return "" if matter.lower() in lexicon.POINTS_BACK else matter[:1].upper() + matter[1:]


def _is_told_by(clause: str, source: FactSource) -> bool:
    """Whether a fact has the thing that a clause tells somebody: "the price", "its address".

    Of anything else nobody is told what happens to be known.
    """
    start = told_thing_start(clause)
    if start is None:
        return True
    had = {stem(word) for word in (*generic_words(source.tool), *tokens(" ".join(source.fields)))}
    return {*content_stems(clause[start:])} <= had | {*map(stem, lexicon.REFERENCES)}


def _told_to_do(clause: str) -> str:
    """What somebody is told to do, where that says itself what it is about: "to pack"."""
    told = told_in(clause) or ""
    deed = told[len("to ") :].strip(" .") if told.lower().startswith("to ") else ""
    return deed[:1].upper() + deed[1:] if deed and not reference_in(deed) else ""


def _matter(utterance: Utterance) -> str:
    """What follows the first "to" or "about" that names no addressee: those are told, not said."""
    told = {slot.position for slot in utterance.of("email")}
    for match in _MATTER.finditer(utterance.text):
        if match.start("matter") not in told and not _is_where(match, utterance):
            return match["matter"].strip(" .")
    return ""


def _is_where(match: re.Match[str], utterance: Utterance) -> bool:
    """Whether it is where a named thing goes: "upload plan.txt to Reports" spells out no text."""
    if not match.group().lower().startswith("to"):
        return False
    matter = match["matter"]
    before = utterance.text[: match.start()].rstrip()
    named = any(
        slot.kind in ("identifier", "quoted") and before.endswith(slot.text)
        for slot in utterance.slots
    )
    return named or matter[:1].isupper() or matter.split()[0].lower() in ARTICLES | {"my", "our"}


def _title(situation: Situation, tool: Tool) -> str:
    if quoted := situation.utterance.of("quoted"):
        return str(quoted[0].value)
    lines = (summary_line(source, most=1) for source in _worth_telling(situation))
    return _joined(dict.fromkeys(lines)) or thing_title(situation.utterance, tool)


def _worth_telling(situation: Situation) -> Iterable[FactSource]:
    """What was done; when nothing was, what was found out."""
    return [s for s in situation.facts if s.fact.side_effect] or situation.facts


def _told_of(source: FactSource, situation: Situation) -> str:
    """What one call did; of one that only read, what it was asked for and answers."""
    fact = source.fact
    if fact.side_effect or fact.body is None:
        return report(source)
    asking = (u for u in situation.other_utterances if not u.reading.asks_side_effect)
    asked = next(asking, situation.utterance)
    return tell(source.tool, fact.arguments, fact.body, asked).sentence.rstrip(".")


def _joined(sentences: Iterable[str]) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)
