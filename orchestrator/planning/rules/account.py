"""Accounts for every content word and value of a clause: used by something, or left over."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from pydantic import JsonValue

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language import lexicon
from orchestrator.language.days import ValueKind
from orchestrator.language.triggers import ENDS_TEXT, Trigger, find_triggers
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems, is_verb, stem
from orchestrator.planning.rules.clause import (
    ARTICLES,
    CALLED,
    LEADS,
    Candidate,
    Clause,
    Word,
    is_stop,
)
from orchestrator.planning.rules.fill import Draft, Span
from orchestrator.planning.rules.parameters import Bound
from orchestrator.planning.rules.tool_words import nouns_of, unvalued_words, verbs_meant, vocabulary

_LISTS: Final = WordLists("rules")
Order = Literal["least", "most"]
_ALL: Final = frozenset({"all", "every", "each", "both"})
_BY: Final[tuple[tuple[frozenset[str], str, Order], ...]] = (
    (lexicon.CHEAPEST, "price", "least"),
    (lexicon.BEST_RATED, "rating", "most"),
    (lexicon.NEWEST, "time", "most"),
    (lexicon.OLDEST, "time", "least"),
    (frozenset({"nearest", "closest"}), "distance", "least"),
    (frozenset({"fastest", "shortest", "quickest"}), "duration", "least"),
    (frozenset({"largest", "biggest", "longest"}), "size", "most"),
    (frozenset({"smallest"}), "size", "least"),
    (frozenset({"dearest", "priciest"}), "price", "most"),
)
_INDEFINITE: Final = frozenset({"a", "an"})
_BEHIND_AND: Final = ARTICLES | {"to", "with", "for"}
_AFTER: Final = frozenset({"after", "from", "since"})
_BEFORE: Final = frozenset({"before", "until", "by"})
_SIDES: Final = frozenset(
    {"arriving", "departing", "leaving", "returning", "starting", "ending", "landing"}
)
_NAMING: Final = frozenset(
    ["of", "for", "from", "to", "with", "about", "called", "named", "titled", "at", "by"]
)
_NAMING_OFFERS: Final = frozenset(["at", "by", "of", "in", "called", "named", "with"])
_NAMING_THINGS: Final = _NAMING - {"for"}
_MOST_WORDS: Final = 4
_POLITE_STEMS: Final = frozenset(map(stem, _LISTS.words("unsaying")))


@dataclass(frozen=True)
class Superlative:
    """A superlative: its measure, and the wanted end."""

    by: str
    order: Order
    span: Span


@dataclass(frozen=True)
class Limit:
    """A limit on the candidates for a choice: a price, a time of day or a day."""

    kind: str
    order: Bound
    value: JsonValue
    span: Span
    text: str
    field: str = ""
    """The stem of the word that the time belongs to: "arriving before 10 am"."""


@dataclass(frozen=True)
class Run:
    """Adjacent unused words of the clause, with the word before them."""

    text: str
    span: Span
    stems: tuple[str, ...]
    cue: str
    value: Candidate | None = None

    @property
    def is_value(self) -> bool:
        """True if the run is a typed value rather than plain words."""
        return self.value is not None


@dataclass(frozen=True)
class Account:
    """The words of a clause beyond the inputs of the tools that are called for it."""

    superlative: Superlative | None
    limits: tuple[Limit, ...]
    is_all: str
    """The words that request every item of a list: "all open invoices"; '' if there are none."""
    count: int | None
    """The requested number of list items; None without a number."""
    filters: tuple[Run, ...]
    """Words that the chosen item must contain."""
    left_over: tuple[Run, ...]
    triggers: tuple[Trigger, ...]


def account_of(
    clause: Clause,
    target: Tool,
    drafts: Sequence[Draft],
    *,
    chooses: bool,
    offers: bool,
    looked_up: Sequence[Span],
    is_resolved: bool,
    empty: Collection[str],
) -> Account:
    """Return the words and values of a clause that neither an input nor a tool's own words use.

    Args:
        clause: the clause.
        target: the tool that carries it out.
        drafts: the calls of the target and of its feeding tools.
        chooses: True if an item is chosen from a list on the way.
        offers: True if that list shows available things.
        looked_up: the spans of ids that say which item of a list is meant.
        is_resolved: True if references to earlier legs, and their nouns, count as used.
        empty: the target's inputs without a value.
    """
    words = vocabulary([draft.tool for draft in drafts], empty)
    used = [span for draft in drafts for span in draft.used]
    reading = _Reading(clause, target, words, used, chooses, offers, looked_up)
    bounds = [c.around for c in clause.of_kind("amount") if c.around in used]
    triggers = []
    for one in find_triggers(clause.text, values=[v for v in clause.values if v.kind != "name"]):
        if is_resolved and one.kind == "back_reference":
            behind = [w for w in clause.words if w.start == one.end + 1]
            used.append((one.start, behind[0].end if behind else one.end))
        else:
            triggers.append(one)
    limits = tuple(reading.limits())
    superlative, is_all, count = reading.superlative(), reading.all(), reading.count()
    runs = reading.runs()
    filters = tuple(run for run in runs if reading.may_filter(run))
    within = [*bounds, *(limit.span for limit in limits)]
    asked = tuple(one for one in triggers if not reading.covers(one, within))
    left = tuple(run for run in runs if run not in filters)
    left += tuple(two for run in filters if (two := reading.joined_to(run)) is not None)
    return Account(superlative, limits, is_all, count, filters, left, asked)


@dataclass
class _Reading:
    clause: Clause
    target: Tool
    words: frozenset[str]
    """Words of the tools."""
    used: list[Span]
    chooses: bool
    offers: bool
    looked_up: Sequence[Span]

    def joined_to(self, run: Run) -> Run | None:
        """Return a second thing that "and" joins to identifying words, and that nothing uses.

        "The team and the travel channel" are two things, even if a tool itself mentions teams.
        """
        joint = self.clause.before(run.span[0], skipping=_BEHIND_AND)
        if joint is None or joint.lower not in ("and", "or"):
            return None
        other = self.clause.before(joint.start)
        if other is None or is_stop(other) or self._is_covered(other):
            return None
        return Run(other.text, (other.start, other.end), (other.stem,), "")

    def covers(self, trigger: Trigger, within: Iterable[Span]) -> bool:
        """Return True if a trigger word is part of a limit, or surely of a text to pass on."""
        texts = self.clause.of_kind("quoted", "text", "trimmed")
        if trigger.kind in ENDS_TEXT:
            texts = [c for c in texts if c.text != c.value or c.start == trigger.start]
        passed = [(c.start, c.end) for c in texts if c.span in self.used]
        spans = [*passed, *within]
        return any(start <= trigger.start and trigger.end <= end for start, end in spans)

    def limits(self) -> Iterable[Limit]:
        if not self.chooses:
            return
        # A moment limits offers by its time only, and listed items by its day as well.
        is_effect = self.target.is_side_effect
        moments = ("time", "date") if not is_effect else ("time",) if self.offers else ()
        for one in self.clause.of_kind("amount", "time", "date"):
            if one.overlaps(self.used):
                continue
            bound = self.clause.bound_of(one) if one.kind == "amount" else None
            order: Bound = "min" if one.cue in _AFTER else "max"
            kind, start = one.kind, one.cue_start
            if bound is not None:
                kind, (order, start) = "price", bound
            elif one.cue not in _AFTER | _BEFORE or kind not in moments:
                continue
            before = self.clause.before(start)
            side = before if before and before.lower in _SIDES else None
            span = (side.start if side else start, one.end)
            self.used.append(span)
            text, stem_of_side = self.clause.text[slice(*span)], side.stem if side else ""
            yield Limit(kind, order, one.value, span, text, stem_of_side)

    def superlative(self) -> Superlative | None:
        for word in self.clause.words if self.chooses else ():
            for words, by, order in _BY:
                if word.lower in words and not self._is_covered(word):
                    self.used.append((word.start, word.end))
                    return Superlative(by, order, (word.start, word.end))
        return None

    def all(self) -> str:
        for number, word in enumerate(self.clause.words):
            is_asked = word.lower in _ALL and self.chooses and not self._is_covered(word)
            if is_asked and (run := self.clause.run_at(number + 1)) is not None:
                self.used.append((word.start, word.end))
                return self.clause.text[word.start : run.end]
        return ""

    def count(self) -> int | None:
        if not self.chooses or self.offers:
            return None
        objects = self.clause.of_kind("object")
        for one in self.clause.of_kind("number"):
            starts = any(0 < c.start - one.end <= 2 for c in objects)
            if one.overlaps(self.used) or not isinstance(one.value, int):
                continue
            if one.after in self.words or starts:
                self.used.append((one.start, one.end))
                return one.value
        return None

    def _is_covered(self, word: Word) -> bool:
        return any(start < word.end and word.start < end for start, end in self.used)

    def runs(self) -> list[Run]:
        found: list[Run] = []
        values = {v.start: v for v in self.clause.candidates if v.kind in _TYPED}
        group: list[Word] = []
        cue, end = "", 0
        for number, word in enumerate(self.clause.words):
            value = values.get(word.start) or values.get(word.start - 1)
            is_used = self._is_used(number, word) or word.lower in CALLED
            is_lead = word.lower in LEADS | _NAMING
            if word.start < end and not is_used:
                group.append(word)
                continue
            if is_used or value is not None or end or is_lead or is_stop(word):
                found += self._grouped(group, cue, values)
                kept = is_stop(word) and not is_lead and not is_used and not group and not end
                cue = word.lower if is_lead else cue if kept or (value and not group) else ""
                group, end = [], 0
            if is_used or (is_stop(word) and word.lower not in _KEPT):
                continue
            group.append(word)
            end = value.end if value is not None else 0
        return [*found, *self._grouped(group, cue, values)]

    def _grouped(
        self, group: Sequence[Word], cue: str, values: dict[int, Candidate]
    ) -> Iterable[Run]:
        if group:
            start, end = group[0].start, group[-1].end
            stems = tuple(word.stem for word in group)
            value = values.get(start) or values.get(start - 1)
            yield Run(self.clause.text[start:end], (start, end), stems, cue, value)

    def _is_used(self, number: int, word: Word) -> bool:
        if self._is_covered(word):
            return True
        typed = [
            c
            for c in self.clause.of_kind(*_TYPED)
            if c.start <= word.start
            and word.end <= c.end
            # A supposed name may be written like an ordinary word.
            and not (c.kind == "name" and c.text.islower())
        ]
        if typed and not all(map(self._is_own_noun, typed)):
            return False
        is_first = number <= self.clause.verb_index + 1
        following = self.clause.after(word.end)
        after = following.lower if following is not None else ""
        if is_first and verbs_meant(word.lower, self.target, after):
            return True
        if number == self.clause.verb_index and is_verb(word.lower) and self.target.is_side_effect:
            return word.stem in unvalued_words(self.target)  # its own verb, not a look-up's
        return word.stem in self.words or word.stem in _POLITE_STEMS

    def _is_own_noun(self, candidate: Candidate) -> bool:
        """Return True if a supposed name is the target's own noun in capitals: "create a VPC"."""
        before = self.clause.before(candidate.start)
        if candidate.kind != "name" or before is None or before.lower not in ARTICLES:
            return False
        if before.lower not in _INDEFINITE and candidate.cue in _NAMING | CALLED:
            return False  # "a table at the Table": a name
        stems = set(content_stems(candidate.text))
        return bool(stems) and stems <= nouns_of(self.target)

    def may_filter(self, run: Run) -> bool:
        """Return True if these words can identify the chosen item.

        An existing item may be identified by a value, and by words next to its noun; an offer by a
        name. If an id identifies the item, no plain word is needed.
        """
        if not self.chooses:
            return False
        if any(start <= run.span[0] and run.span[1] <= end for start, end in self.looked_up):
            return True
        if run.value is not None and run.value.kind not in ("name", "quoted"):
            return not self.offers and run.value.value is not None
        objects = self.clause.of_kind("object")[-1:]
        with_object = any(o.start <= run.span[0] and run.span[1] <= o.end for o in objects)
        cues = _NAMING_OFFERS if self.offers else _NAMING_THINGS
        if not self.offers and self.target.effect is Effect.CANCEL:
            cues |= {"for"}
        (start, end), text = run.span, self.clause.text
        nouns = [w for w in self.clause.words if w.stem in self.words]
        before = any(w.end <= start and not text[w.end : start].strip(" \"'\u201c") for w in nouns)
        after = any(w.start >= end and not text[end : w.start].strip() for w in nouns)
        is_at_noun = not self.offers and (after or (before and run.value is not None))
        if not (run.cue in cues or with_object or is_at_noun):
            return False
        is_plain = len(run.stems) <= _MOST_WORDS and not self.looked_up
        return run.value is not None or (is_plain and (with_object or not self.offers))


_TYPED: Final = get_args(ValueKind)
_KEPT: Final = frozenset({"not", "no", "without", "never", "except"})
