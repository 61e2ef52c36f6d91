"""Fills the inputs of a tool with the values of a clause, by the meaning of each input."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import content_stems, is_verb, stem, tokens
from orchestrator.planning.rules.clause import CALLED, LEADS, Candidate, Clause, is_stop
from orchestrator.planning.rules.parameters import (
    DAYS,
    MONEY,
    TEXTS,
    Kind,
    Leaf,
    Parameter,
    as_typed,
    leaves_of,
    tool_parameters,
    units_of,
)
from orchestrator.planning.rules.suits import (
    END_CUES,
    NAMED,
    TELLING,
    Suits,
    codes_of,
    converted,
    days_of,
    why_not_taken,
)
from orchestrator.planning.rules.tool_words import (
    id_nouns,
    is_in_path,
    nouns_of,
    own_words,
    verbs_of,
)

Span = tuple[int, int]
_IS: Final = frozenset({"is", "of", "as", "to", "equals", "set"})


@dataclass
class Draft:
    """The known inputs of one call, and the words of the clause that were used for them."""

    tool: Tool
    leaves: tuple[Leaf, ...]
    found: dict[tuple[str | int, ...], JsonValue] = field(default_factory=dict)
    used: list[Span] = field(default_factory=list)
    said: dict[tuple[str | int, ...], Candidate] = field(default_factory=dict)
    unsure: list[tuple[Leaf, Candidate]] = field(default_factory=list)
    """Inputs with ambiguous words, which do not determine the value."""

    def give(self, leaf: Leaf, value: JsonValue, candidate: Candidate | None = None) -> None:
        """Set the value of an input."""
        self.found[leaf.path] = value
        if candidate is not None:
            self.used += [candidate.span, candidate.around]
            if candidate.kind == "number" and candidate.after in units_of(leaf.parameter):
                self.used.append((candidate.end, candidate.after_end))
            self.said[leaf.path] = candidate

    @property
    def arguments(self) -> JsonObject:
        """The call's arguments, in the order of the tool's inputs."""
        made: JsonObject = {}
        for path, value in self.found.items():
            node = made
            for step, following in pairwise(path):  # inside objects, or the first one of a list
                if step == 0:
                    continue
                inner = node.setdefault(str(step), [{}] if following == 0 else {})
                inner = inner[0] if isinstance(inner, list) and inner else inner
                node = inner if isinstance(inner, dict) else {}
            node[str(path[-1])] = value
        order = [p.name for p in tool_parameters(self.tool)]
        return {name: made[name] for name in order if name in made}

    @property
    def ids_said(self) -> list[Span]:
        """The spans of the clause that fill id inputs."""
        ids = [leaf.path for leaf in self.leaves if leaf.parameter.is_id]
        return [self.said[path].span for path in ids if path in self.said]

    @property
    def names_said(self) -> list[Span]:
        """The spans of names that inputs take, except places."""
        places = {leaf.path for leaf in self.leaves if leaf.parameter.kind is Kind.PLACE}
        said = [one for path, one in self.said.items() if path not in places]
        return [one.span for one in said if one.kind == "name"]

    @property
    def missing(self) -> tuple[Leaf, ...]:
        """The required inputs without a value; an object's fields count once it has a value."""
        begun = {path[:-1] for path in self.found if len(path) > 1}
        return tuple(
            leaf
            for leaf in self.leaves
            if leaf.path not in self.found
            and (leaf.required or (leaf.parameter.required and leaf.path[:-1] in begun))
        )


def fill(
    tool: Tool, clause: Clause, inputs: Mapping[str, JsonValue], *, taken: Sequence[Span] = ()
) -> Draft:
    """Return the arguments of a call that a clause and the given inputs supply.

    Args:
        tool: the tool to call.
        clause: the clause of the goal.
        inputs: given with the goal or as answers, by name; they take precedence.
        taken: spans that another tool of the same clause uses.
    """
    draft = Draft(tool, leaves_of(tool))
    for leaf in draft.leaves:
        if leaf.name not in tool.pii_fields:
            given = _given(tool, leaf, inputs)
        else:
            given = handle_for(leaf.name) if leaf.required else None
        if given is not None:
            draft.give(leaf, given)
    _Reader(tool, clause, draft).read(taken)
    return draft


def _given(tool: Tool, leaf: Leaf, inputs: Mapping[str, JsonValue]) -> JsonValue:
    """Return the constant or the given value of an input; None without one."""
    name, parameter = str(leaf.path[-1]), leaf.parameter
    if parameter.kind is Kind.CONSTANT and leaf.required:
        listed = parameter.schema.get("enum")
        return parameter.schema.get("const", listed[0] if isinstance(listed, list) else None)
    if len(leaf.path) == 1:
        return parameter.first_accepted(*as_typed(inputs.get(name)))
    if leaf.name not in inputs:
        # An input of that name may mean its namesake outside, and a value that begins an optional
        # object makes the object's other fields required.
        is_meant = leaf.required or name not in tool.properties
        return parameter.first_accepted(*as_typed(inputs.get(name))) if is_meant else None
    node: JsonValue = dict(inputs)
    for step in leaf.path:
        if isinstance(node, dict):
            node = node.get(str(step))
        else:
            node = node[0] if isinstance(node, list) and node else None
    return parameter.first_accepted(*as_typed(node))


class _Reader:
    """Pairs the inputs of one tool with the candidates of one clause, the surest pairs first."""

    def __init__(self, tool: Tool, clause: Clause, draft: Draft) -> None:
        self.tool = tool
        self.clause = clause
        self.draft = draft
        self.words = own_words(tool)
        self.last_words = [[*map(stem, leaf.parameter.words[-1:])] for leaf in draft.leaves]
        self.suits = Suits(tool, clause, draft.leaves)
        self.takes_id = any(leaf.parameter.is_id for leaf in draft.missing)
        self.candidates = [self._bare(one) for one in clause.candidates]

    def _bare(self, candidate: Candidate) -> Candidate:
        """Return an object or phrase without the tool's own words at its start."""
        if candidate.kind != "object":
            return candidate
        start, end = candidate.start, candidate.end
        words = [w for w in self.clause.words if start <= w.start and w.end <= end]
        own = nouns_of(self.tool) | verbs_of(self.tool)
        while len(words) > 1 and words[0].stem in own | {"of"}:
            if words[1].lower in LEADS - {"of"}:
                # Words that only name the tool's own thing are no text, title or name to pass on.
                return replace(candidate, kind="own_thing")
            words.pop(0)
        start = words[0].start
        if self.takes_id:
            # "for Rex" says whose id is needed, and is no part of a text.
            cues = [c.cue_start for c in self.clause.of_kind("name") if c.cue == "for"]
            end = len(
                self.clause.text[: min((c for c in cues if start < c < end), default=end)].rstrip()
            )
        text = self.clause.text[start:end]
        return replace(candidate, value=text, text=text, start=start, end=end)

    def read(self, taken: Sequence[Span]) -> None:
        """Assign to each open input its best candidate."""
        for leaf in self.draft.leaves:  # words that repeat a given value are used
            given = self.draft.found.get(leaf.path)
            for one in self.clause.candidates if given is not None else ():
                values = converted(leaf.parameter, one, self.clause)
                if given in [*values] or str(given).casefold() == one.text.casefold():
                    self.draft.used.append(one.span)
        self._choices()
        for one in self.clause.of_kind("date", "time"):
            kinds = DAYS if one.kind == "date" else (Kind.TIME,)
            for leaf in self._open(*kinds)[:1] if one.value is None else ():
                self.draft.unsure.append((leaf, one))
                self.draft.used.append(one.span)
        blocked = [*taken, *self.draft.used]
        pairs: list[tuple[float, Leaf, Candidate, JsonValue]] = []
        for leaf in self._open():
            for one in (*self._named(leaf), *self.candidates):
                score = self.suits.score(leaf, one) if one.value is not None else 0.0
                taken_as = converted(leaf.parameter, one, self.clause) if score > 0 else ()
                if (value := leaf.parameter.first_accepted(*taken_as)) is not None:
                    # An input that is named before a value takes it, even if others could.
                    score += (10.0 if one.cue == NAMED else 0.0) + 0.5 * leaf.required
                    pairs.append((score, leaf, one, value))
        for _, leaf, candidate, value in sorted(pairs, key=lambda pair: -pair[0]):
            if leaf.path in self.draft.found or candidate.overlaps(blocked):
                continue
            if not self._continues(candidate):
                self.draft.give(leaf, value, candidate)
                blocked.append((candidate.start, candidate.end))
                self._several(blocked)
        self._texts_again()
        self._lone_values(blocked)
        self._currencies()
        self._stretch()
        self._flags()
        self._several(blocked)
        for leaf in self.draft.missing:
            default = leaf.parameter.schema.get("default")
            if default is not None and leaf.parameter.accepts(default):
                self.draft.give(leaf, default)

    def _open(self, *kinds: Kind) -> list[Leaf]:
        """Return the inputs without a value, or those of these kinds."""
        personal, found = self.tool.pii_fields, self.draft.found
        free = (le for le in self.draft.leaves if le.path not in found and le.name not in personal)
        return [leaf for leaf in free if not kinds or leaf.parameter.kind in kinds]

    # -- pairs ------------------------------------------------------------------------------------

    def _named(self, leaf: Leaf) -> Iterator[Candidate]:
        """Yield values right after the name of an input: "latitude 52.5", "with note: west"."""
        names = [stem(word) for word in leaf.parameter.words]
        alone = self.last_words.count(names[-1:]) == 1
        words = self.clause.words
        yield from self._named_id(leaf)
        for number, word in enumerate(words):
            if word.stem not in names[-1:] and word.stem != "".join(names):
                continue
            if len(names) > 1 and word.stem == names[-1]:
                before = {w.stem for w in words[max(0, number - 3) : number]}
                is_plain = alone and names[-1] not in _UNTELLING
                if not set(names[:-1]) & before and not is_plain:
                    continue
            after = number + 1
            while after < len(words) and words[after].lower in _IS | CALLED:
                after += 1
            if after >= len(words):
                continue
            start = words[after].start
            typed = [c for c in self.clause.candidates if c.start in (start, start - 1)]
            typed = [c for c in typed if c.kind not in ("phrase", "object", "text", "trimmed")]
            for candidate in typed:
                yield replace(candidate, cue=NAMED, cue_start=word.start)
            if not typed and words[after].lower not in LEADS:
                run = self.clause.run_at(after)
                if run is not None:
                    yield replace(run, kind="phrase", cue=NAMED, cue_start=word.start)

    def _named_id(self, leaf: Leaf) -> Iterator[Candidate]:
        """Yield a word right after the noun of a path's id: "index movies" for /indexes/{uid}."""
        parameter = leaf.parameter
        if not is_in_path(self.tool, parameter.name):
            return
        nouns = id_nouns(self.tool, parameter)
        for word, following in pairwise(self.clause.words):
            gap = self.clause.text[word.end : following.start]
            is_plain = not is_stop(following) and following.stem not in self.words
            if word.stem in nouns and is_plain and not gap.strip() and word.start != 0:
                typed = [c for c in self.clause.candidates if c.start == following.start]
                if not any(c.kind in ("date", "time", "amount", "duration") for c in typed):
                    start, end = following.start, following.end
                    yield Candidate(
                        "id", following.text, following.text, start, end, noun=word.stem
                    )

    # -- what is no pair --------------------------------------------------------------------------

    def _choices(self) -> None:
        for leaf in self._open():
            listed = leaf.parameter.element or leaf.parameter
            if listed.kind is not Kind.CHOICE or not _SHAPING.isdisjoint(leaf.parameter.words):
                continue
            said = [(one, self._said(one, listed)) for one in listed.options]
            found = [(option, span) for option, span in said if span is not None]
            if not found:
                continue
            found.sort(key=lambda pair: pair[1][0] - pair[1][1])
            spans = [span for _, span in found]
            (option, (start, end)), is_list = found[0], leaf.parameter.kind is Kind.LIST
            if not is_list and any(s >= end or e <= start for s, e in spans):
                readings = tuple(option for option, _ in found)
                text = self.clause.text[start:end]
                asked = Candidate("choice", None, text, start, end, readings=readings)
                self.draft.unsure.append((leaf, asked))
                self.draft.used += spans
                continue
            value: JsonValue = [option for option, _ in found] if is_list else option
            if leaf.parameter.accepts(value):
                self.draft.give(leaf, value)
                self.draft.used += spans if is_list else spans[:1]

    def _said(self, option: str, parameter: Parameter) -> Span | None:
        """Return where the clause names a listed value; everyday words only near its input."""
        wanted = content_stems(option.replace("_", " ").replace("-", " ")) or [option.lower()]
        words = self.clause.words
        own = {stem(word) for word in parameter.words}
        for number in range(len(words) - len(wanted) + 1):
            run = words[number : number + len(wanted)]
            if [w.stem for w in run] != wanted and [w.lower for w in run] != [option.lower()]:
                continue
            if any(w.start < c.end and c.start < w.end for c in self._quoted() for w in run):
                continue
            around = words[max(0, number - 2) : number + len(wanted) + 2]
            is_near = any(w.stem in own | self.words for w in around if w not in run)
            if len(wanted) == 1 and option.lower() in lexicon.AMBIGUOUS_CHOICES and not is_near:
                continue
            if number == self.clause.verb_index and is_verb(run[0].lower) and len(words) > 1:
                continue
            behind = words[number + len(wanted) : number + len(wanted) + 1]
            described = {*content_stems(str(parameter.schema.get("description", "")))}
            last = behind[0] if behind and behind[0].stem in described else run[-1]
            return run[0].start, last.end
        return None

    def _quoted(self) -> list[Candidate]:
        return self.clause.of_kind("quoted", "text", "trimmed")

    def _texts_again(self) -> None:
        own = nouns_of(self.tool) | verbs_of(self.tool)
        said = [one.span for one in self.draft.said.values()]
        phrases = [c for c in self.clause.of_kind("phrase") if c.cue in ("for", "about")]
        free = [c for c in phrases if not c.overlaps(said) and {*content_stems(c.text)} - own]
        for leaf in self._open(*TEXTS) if self.clause.verb not in TELLING else ():
            fitting = [c for c in free if leaf.required and leaf.parameter.accepts(c.text)]
            if fitting:
                self.draft.give(leaf, fitting[0].text, fitting[0])

    def _lone_values(self, blocked: list[Span]) -> None:
        """Assign the only free number, and the name of a new thing, to the only open input."""
        missing = [leaf for leaf in self.draft.missing if not leaf.parameter.is_id]
        numbers = [
            leaf
            for leaf in missing
            if leaf.parameter.kind in (Kind.COUNT, Kind.AMOUNT, Kind.OTHER, Kind.NIGHTS)
            and leaf.parameter.schema.get("type") in ("number", "integer")
        ]
        free = [c for c in self.clause.of_kind("number") if not c.overlaps(blocked)]
        if len(numbers) == len(free) == 1 and (
            free[0].cue in ("to", "at", "of") or not free[0].after
        ):
            value = numbers[0].parameter.first_accepted(*as_typed(free[0].value))
            if value is not None:
                self.draft.give(numbers[0], value, free[0])
                blocked.append((free[0].start, free[0].end))
        kinds = (*TEXTS, Kind.OTHER)
        texts = [leaf for leaf in self.draft.missing if leaf.parameter.kind in kinds]
        called = [c for c in self.clause.of_kind("called") if not c.overlaps(blocked)]
        makes = self.tool.effect in (Effect.OBLIGATION, Effect.WRITE)
        if len(texts) == len(called) == 1 and makes:
            (leaf,), (name,) = texts, called
            if not is_in_path(self.tool, leaf.name) and leaf.parameter.accepts(name.text):
                self.draft.give(leaf, name.text, name)

    def _currencies(self) -> None:
        """Assign the currency of an amount, used or in an unclear unit, to its input."""
        unclear = [leaf.parameter for leaf in self._open(*MONEY)]
        amounts = [
            one
            for one in self.clause.of_kind("amount")
            if one.overlaps(self.draft.used) or any(why_not_taken(p, one) for p in unclear)
        ]
        codes = [code for c in amounts if isinstance(c.value, dict) for code in codes_of(c.value)]
        for leaf in self._open(Kind.CURRENCY):
            if (code := leaf.parameter.first_accepted(*codes)) is not None:
                self.draft.give(leaf, code)

    def _stretch(self) -> None:
        days = [leaf for leaf in self.draft.leaves if leaf.parameter.kind is Kind.DATE]
        begun = [le for le in days if le.path in self.draft.found and le.parameter.side != "end"]
        ends = [leaf for leaf in self._open(Kind.DATE) if leaf.parameter.side == "end"]
        free = self.clause.of_kind("duration", "number") if len(begun) == len(ends) == 1 else []
        for one in free:
            if (length := days_of(one)) and not one.overlaps(self.draft.used):
                day = date.fromisoformat(str(self.draft.found[begun[0].path]))
                counted = self.clause.after(one.end) if one.kind == "number" else None
                span = (one.start, counted.end if counted else one.end)
                described = tokens(str(ends[0].parameter.schema.get("description", "")))
                text = self.clause.text[slice(*span)]
                is_last = not _LAST.isdisjoint(described) and "night" not in text.lower()
                end = day + timedelta(days=length - is_last)
                self.draft.give(ends[0], end.isoformat(), one)
                self.draft.used.append(span)
                return

    def _flags(self) -> None:
        said = {word.stem: word for word in self.clause.words if word.stem not in _GENERAL}
        for leaf in self._open(Kind.FLAG):
            words = [stem(w) for w in leaf.parameter.words if w not in _FLAG_WORDS]
            spans = [(said[word].start, said[word].end) for word in words if word in said]
            is_quoted = any(c.overlaps(spans) for c in self._quoted())
            if words and len(spans) == len(words) and not is_quoted:
                self.draft.give(leaf, True)
                self.draft.used += spans

    def _several(self, blocked: list[Span]) -> None:
        """Add the values that are joined to the first one of a list."""
        elements = {leaf.path: leaf.parameter.element for leaf in self.draft.leaves}
        for path, first in [*self.draft.said.items()]:
            element, value = elements[path], self.draft.found[path]
            if element is None or first.kind == "number":
                continue
            more = self._joined_to(first, blocked)
            made = [element.first_accepted(*converted(element, c, self.clause)) for c in more]
            if more and None not in made:
                spans = [(c.start, c.end) for c in more]
                self.draft.used += spans
                blocked += spans
                self.draft.found[path] = [*(value if isinstance(value, list) else [value]), *made]

    def _continues(self, one: Candidate) -> bool:
        """Return True for "Bob" of "to Ann and Bob", if an input has Ann: no other is meant."""
        said = [first for first in self.draft.said.values() if first.kind == "email"]
        is_named = one.kind != "email" or one.cue == NAMED
        return not is_named and any(one in self._joined_to(first, []) for first in said)

    def _joined_to(self, first: Candidate, blocked: list[Span]) -> list[Candidate]:
        found = [first]
        for one in self.clause.of_kind(first.kind):
            is_next = one.start >= found[-1].end and self.clause.are_joined(found[-1], one)
            if is_next and not one.overlaps(blocked) and one.cue not in END_CUES - {"and"}:
                found.append(one)
        return found[1:]


_UNTELLING: Final = frozenset({"id", "date", "time", "number", "type", "status", "code"})
_LAST: Final = frozenset({"last", "final", "inclusive", "included", "including"})
"""Words of a description with which the day of an end belongs to the stretch."""
_FLAG_WORDS: Final = frozenset({"is", "has", "only", "include", "with", "should", "enabled"})
_SHAPING: Final = frozenset(
    ["fields", "field", "expand", "include", "embed", "select", "columns", "properties"]
)
_GENERAL: Final = frozenset({"all", "new"})
