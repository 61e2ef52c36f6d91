"""Takes apart a goal: what it asks for, and what it says of when that is to be done."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import (
    begins_request,
    clause_spans,
    dependent_end,
    joints,
    opens_what_is_told,
    quoted_spans,
    sentence_spans,
    split_clauses,
)
from orchestrator.language.condition_words import (
    AWAITED,
    CONDITION,
    IDLE,
    MARK,
    OPPOSITE,
    SO,
    is_echo,
)
from orchestrator.language.goal_text import (
    Cut,
    GoalText,
    Governed,
    Remark,
    Subclause,
    moved,
    without,
)
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.negation import with_exceptions
from orchestrator.language.provisos import (
    NONE_THERE,
    as_stated,
    bound_in,
    in_full,
    is_idle,
    is_inverted,
    is_own_limit,
    reversed_bound,
    reverses_what,
)
from orchestrator.language.remarks import announcement_end, is_courtesy, remark_end
from orchestrator.language.statements import orders_of_a_thing, states_of_another, wish_in
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import action_of, content_stems, stem, tokens

_LISTS: Final = WordLists("provisos")
_GOALS_KEPT: Final = 64
_NO_CONDITION: Final = _LISTS.word_set("before_none")
_STRICT: Final = frozenset(_LISTS.lines("strict"))
_OF_WHAT_IS_THERE: Final = frozenset({Action.CANCEL, Action.PAY, Action.UPDATE})
"""What is ordered with a thing that is there: its price can be looked at before."""
DONE_STEMS: Final = frozenset(map(stem, _LISTS.word_set("done")))
"""Of words that say that something is done: booked, confirmed, worked."""
_FEASIBLE: Final = _LISTS.word_set("feasible")
_INFEASIBLE: Final = _LISTS.word_set("infeasible")
_NO_END: Final = _LISTS.word_set("no_end")
_JOINT_BEFORE: Final = re.compile(
    r"(?:^|[,;:\u2013\u2014-]|\b(?:and|but|then|so|plus|also|or))\s*$", re.I
)
_AND_BEFORE: Final = re.compile(r"\b(?:and|but|then|so|plus|also|or)\s*,?\s*$", re.IGNORECASE)
_AND_PAUSED: Final = re.compile(r"\b(and|but|then|so|plus|also)\s*,\s*$", re.IGNORECASE)
_PAUSE: Final = re.compile(
    r"(?<!\d),|,(?!\d)|;|:\s|\s[-\u2013\u2014]\s|\s+then\b(?=\s+\w)", re.IGNORECASE
)
_JOINING: Final = re.compile(r"[\s,]*\b(?:and|but|then|plus)\s+", re.IGNORECASE)
_ENDS_JOINED: Final = re.compile(r"(?:[\s,;.!:]|\b(?:and|but|or|then))+$", re.IGNORECASE)
_NOTHING: Final = re.compile(
    r"(?:(?:just\s+)?(?:do|book)\s+)?nothing(?:\s+at\s+all)?|(?:please\s+)?(?:don['\u2019]t|do\s+not)"
    r"(?:\s+(?P<verb>[a-z]+)(?:\s+(?:it|that|this|them|one|any|anything|so))?)?(?=[\s.!]*$)"
    r"|(?:leave|skip|drop)\s+(?:it|that|everything)(?:\s+alone)?(?=[\s.!]*$)",
    re.IGNORECASE,
)
_AUDIENCE: Final = re.compile(
    r"\b(?P<verb>[a-z]+)\s+(?P<all>(?:everyone|everybody|all)\s+(?:in|on)\s+)(?=#\w)", re.IGNORECASE
)
"""All who read a channel, who are told what it is told: "everyone in #general"."""
_TELL_ME: Final = re.compile(
    r"(?:please\s+)?(?:just\s+)?(?:(?:tell|inform|notify|ask)\s+(?:me|us)|let\s+(?:me|us)\s+know)"
    r"(?:\s+(?:so|first|again|about\s+it))?(?=[\s.!]*$)",
    re.IGNORECASE,
)
"""What every mission does where something was not done: its result says so."""
_DOING: Final = ("do", "bother")
_SPACE: Final = re.compile(r"[\s,;:\u2013\u2014-]*(?:then\b\s*)?", re.IGNORECASE)
_STOP: Final = re.compile(r"[.!?;]*\s*")
_WORD: Final = re.compile(r"\S+")
_THING: Final = re.compile(
    r"(?:it|that|this|they|everything|both|all|you|the\s|my\s|our\s|i\s+have|we\s+have|i['\u2019]ve)",
    re.IGNORECASE,
)
_NO_EVENT: Final = re.compile(
    rf"(?:you|[a-z]+ing|do|does|did|{'|'.join(map(re.escape, _LISTS.words('states')))}"
    rf"|{'|'.join(WordLists('coordination').words('prepositions'))})(?!\w)",
    re.IGNORECASE,
)
"""What begins a question ("when is it"), says where ("when in Rome") or what is done here."""
_NOT: Final = re.compile(r"\b(?:not|no|none|cannot|nothing)\b|n['\u2019]t\b", re.IGNORECASE)


@lru_cache(maxsize=_GOALS_KEPT)
def read_goal(goal: str) -> GoalText:
    """Read a goal; one that would ask for nothing then is kept as it stands."""
    reader = _Reader(with_exceptions(goal))
    for start, end in sentence_spans(goal):
        reader.read_sentence(start, end)
    found = reader.text()
    return found if tokens(found.requests) else GoalText(goal)


def says_no_more(condition: str, goal: str) -> bool:
    """Whether what looks like a condition is none: a courtesy, a sequence, or a way out."""
    if any(pattern.match(condition) for pattern in (IDLE, OPPOSITE, SO)):
        return True
    read = [governed.subclause for governed in read_goal(goal).governed]
    return any(condition in one.text and one.kind != "condition" for one in read)


def _is_awaited(told: str, following: str) -> bool:
    """Whether an order that follows has to wait for what is told: "when Ana writes, cancel it"."""
    happens = len(told.split()) > 1 and not _NO_EVENT.match(told)
    return happens and any(
        read_clause(clause).asks_side_effect for clause in split_clauses(following)[:1]
    )


class _Reader:
    """Reads a goal from left to right."""

    def __init__(self, goal: str) -> None:
        self._goal = goal
        self._quoted = quoted_spans(goal)
        self._cuts: list[Cut] = []
        self._governed: list[Governed] = []
        self._remarks: list[tuple[str, int]] = []
        self._open: list[tuple[Subclause, int, bool]] = []
        self._last: Subclause | None = None
        self._asked_until = 0

    def text(self) -> GoalText:
        """What was read."""
        left, places = without(self._goal, self._cuts)

        def to(position: int) -> int:
            return moved(position, places, len(left))

        return GoalText(
            requests=left,
            governed=tuple(
                Governed(g.subclause, to(g.start), to(g.end), g.as_said) for g in self._governed
            ),
            remarks=tuple(Remark(text, to(at)) for text, at in self._remarks),
        )

    def read_sentence(self, start: int, end: int) -> None:
        """Take out of a sentence what asks for nothing."""
        if announced := announcement_end(self._goal[start:end]):
            self._cuts.append(Cut(start, start + announced))
            start += announced
        for audience in _AUDIENCE.finditer(self._goal, start, end):
            tells = action_of(audience["verb"].lower()) is Action.SEND
            if tells and not self._is_quoted(audience.start()):
                self._cuts.append(Cut(*audience.span("all")))
        sentence = self._goal[start:end]
        marked = MARK.match(self._goal, start + len(sentence) - len(sentence.lstrip()), end)
        wished = self._wish(start, start, end)
        said = start if marked or wished else start + self._remark_end(sentence)
        if said > start:
            self._remark(start, said, end)
        elif not wished:
            self._statement(said, end)
        at = said
        while (mark := MARK.search(self._goal, at, end)) is not None:
            at = mark.end()
            told = split_clauses(self._goal[said : mark.start()])[-1:]
            if any(map(opens_what_is_told, told)):
                at += dependent_end(self._goal[mark.start() : end])
            elif not any(a <= mark.start() < b for a, b in self._quoted):
                at = max(at, self._take(mark.start(), said, end))
        for subclause, begun, as_said in self._open:
            self._governed.append(Governed(subclause, begun, end, as_said))
        self._open.clear()
        if tokens(without(self._goal[said:end], self._within(said, end))[0]):
            self._asked_until = end

    def _within(self, start: int, end: int) -> list[Cut]:
        return [
            Cut(c.start - start, min(c.end, end) - start)
            for c in self._cuts
            if start <= c.start < end
        ]

    def _remark(self, start: int, said: int, end: int) -> None:
        if not is_courtesy(self._goal[start:said]):
            self._remarks.append((self._goal[start:said].strip(" \t\n,;.:"), start))
        pattern = _STOP if said == end else _SPACE
        gap = pattern.match(self._goal, said)
        self._cuts.append(Cut(start, gap.end() if gap else said))

    def _remark_end(self, sentence: str) -> int:
        """How much of a sentence states something; how a thing is to be, it states to its end."""
        orders = self._asked_until and orders_of_a_thing(sentence)
        return len(sentence) if orders else remark_end(sentence)

    def _statement(self, start: int, end: int) -> None:
        """Take out of a sentence what it states behind its request: ", the flight can stay".

        What somebody is told states anything, and so does what depends on something.
        """
        for begun, resume in joints(self._goal[start:end]):
            if self._wish(start + begun, start + resume, end):
                return
            if not states_of_another(self._goal[start + resume : end]):
                continue
            before, at = self._goal[start : start + begun], start + resume
            asked = read_clause((split_clauses(before) or ("",))[-1])
            if MARK.search(before) or not asked.asks_side_effect or asked.action is Action.SEND:
                return
            stop = self._stated_until(at, end)
            self._remarks.append((self._goal[at:stop].strip(" \t\n,;.:"), at))
            self._cuts.append(Cut(start + begun, stop))
            return

    def _stated_until(self, at: int, end: int) -> int:
        """Where a statement ends: at a pause, where a request begins, or with its sentence."""
        rest = self._goal[at:end]
        ends = (
            a for a, b in joints(rest) if rest[a] in ",;" or begins_request(rest[b:], firm=True)
        )
        return at + next(ends, len(rest))

    def _wish(self, before: int, at: int, end: int) -> bool:
        """Read what the thing asked for before is to be as if it followed it; whether it does so.

        "Book a hotel in Rome. It must have a pool" books one "with a pool".
        """
        wish = wish_in(self._goal[at:end])
        ended = len(self._goal[:before].rstrip(" \t\n,;.!"))
        if wish is None or not ended:
            return False
        asked = read_clause((split_clauses(self._goal[:ended]) or ("",))[-1])
        things = {singular(thing.lower()) for thing in asked.objects}
        if asked.action is Action.SEND or (wish.thing and singular(wish.thing) not in things):
            return False
        self._cuts.append(Cut(ended, at + wish.length, wish.put))
        return True

    def _take(self, at: int, start: int, end: int) -> int:
        """Read what a word begins; where to go on reading."""
        goal = self._goal
        idle = IDLE.match(goal, at, end)
        if idle:
            return self._leave_out(idle, start)
        mark = SO.match(goal, at, end)
        if mark and self._follows_its_request(mark, start, end):
            return self._if_so(mark)
        for pattern, is_opposite in ((OPPOSITE, True), (SO, False)):
            mark = pattern.match(goal, at, end)
            if mark and self._stands_alone(mark, start, end):
                return self._go_on(mark, start, end, is_opposite=is_opposite)
        mark = CONDITION.match(goal, at, end) or AWAITED.match(goal, at, end)
        if mark is None:
            return at + 1
        return self._subclause(mark, start, end)

    def _leave_out(self, idle: re.Match[str], start: int) -> int:
        """What says nothing that a request itself does not: "if possible"."""
        leads = not tokens(self._goal[start : idle.start()])
        begun = len(self._goal[: idle.start()].rstrip(" ,"))
        cut = Cut(idle.start(), idle.end()) if leads else Cut(begun, idle.end(1))
        self._cuts.append(cut)
        return idle.end()

    def _follows_its_request(self, mark: re.Match[str], start: int, end: int) -> bool:
        """Whether nothing more is said: "pay it if so"."""
        before = self._goal[start : mark.start()]
        stop = self._trailing_end(mark.end(), end)[0]
        if not tokens(before) or tokens(self._goal[mark.end() : stop]):
            return False
        return stop == end or not _JOINT_BEFORE.search(before)

    def _if_so(self, mark: re.Match[str]) -> int:
        """It follows its request: "pay it if so"."""
        at = len(self._goal[: mark.start()].rstrip(" ,"))
        if not self._last:
            self._last = Subclause("so", mark.group())
        self._cuts.append(Cut(at, mark.end()))
        self._governed.append(Governed(self._last, at, at, not self._last.is_unless))
        return mark.end()

    def _stands_alone(self, mark: re.Match[str], start: int, end: int) -> bool:
        """Whether what follows is a request: "if not, rent a car", not "if not yet paid"."""
        after = self._goal[mark.end() : end]
        cut = any(c.end == len(self._goal[: mark.start()].rstrip()) for c in self._cuts)
        joined = cut or bool(_JOINT_BEFORE.search(self._goal[start : mark.start()]))
        paused = after.lstrip().startswith((",", ":", "-", "\u2013", "\u2014"))
        wordy = len(mark.group().split()) > 1
        orders = begins_request(after, firm=True)
        return bool(tokens(after)) and (paused or orders if wordy else joined or orders)

    def _go_on(self, mark: re.Match[str], start: int, end: int, *, is_opposite: bool) -> int:
        """What is done in the opposite case of the last condition, or in the same."""
        gap = _SPACE.match(self._goal, mark.end())
        resume = gap.end() if gap else mark.end()
        begins = begins_request(self._goal[resume:end], firm=True)
        new = not self._goal[start : mark.start()].strip()
        joined = _ENDS_JOINED.search(self._goal[: mark.start()])
        before = joined.start() if joined else mark.start()
        self._cuts.append(
            Cut(mark.start(), resume)
            if new and begins
            else Cut(before, resume, "; " if begins else ", and ")
        )
        for subclause, begun, as_said in self._open:
            self._governed.append(Governed(subclause, begun, before, as_said))
        nothing = _NOTHING.match(self._goal, resume, end)
        if is_opposite and nothing is None:
            nothing = _TELL_ME.match(self._goal, resume, end)
        if nothing is not None:
            self._open = []
            self._cuts[-1] = Cut(before, nothing.end())
            return nothing.end()
        said = self._goal[mark.start() : end].strip()
        none = Subclause("instead", said, said) if is_opposite else Subclause("so", mark.group())
        if self._last is not None and is_echo(mark.group()) and _NOT.search(self._last.told):
            is_opposite = not is_opposite  # "if it doesn't rain ..., and if it does, ..."
        asked = self._last or (Subclause("so", mark.group()) if self._was_asked(start) else None)
        subclause = asked or none
        as_said = asked is None or not (is_opposite or subclause.is_unless)
        if self._last is not None and is_echo(mark.group()):
            as_said = (
                is_opposite is subclause.is_unless
            )  # "unless it rains ..., if it doesn't, ..."
        self._open = [(subclause, resume, as_said)]
        if not is_opposite and self._last is None:
            self._last = subclause
        return resume

    def _was_asked(self, at: int) -> bool:
        """Whether the sentence before asks a question, and orders nothing that could fail."""
        before = self._goal[:at].rstrip()
        return (
            before.endswith("?")
            and not read_clause((split_clauses(before) or ("",))[-1]).asks_side_effect
        )

    def _subclause(self, mark: re.Match[str], start: int, end: int) -> int:
        goal = self._goal
        before = tokens(goal[start : mark.start()])
        told_end, resume, leads = self._extent(mark, start, end)
        told = goal[mark.end() : told_end].strip(" \t\n,;.!?")
        if before and before[-1] in _NO_CONDITION:
            return mark.end()
        if (otherwise := self._none_within(mark, start, end)) is not None:
            return otherwise
        if is_inverted(mark.group()) and not (leads and self._orders_or_undoes(resume, end)):
            return mark.end()  # "should it rain?" asks
        if leads and (undone := self._undone(mark, told, start, resume, end)) is not None:
            return undone
        subclause = self._meant(mark, told, start, goal[resume:end] if leads else None)
        if subclause is None:
            if leads and before and is_own_limit(told):
                return self._put_behind(mark, told, resume, end)
            if told_end > mark.end() and not leads and is_own_limit(told):
                self._keep_with_request(mark.start(), start)
            return mark.end()
        self._last = subclause if subclause.kind == "condition" else None
        if leads:
            paused = _AND_PAUSED.search(goal, start, mark.start())
            begun = paused.end(1) if paused else mark.start()
            self._cuts.append(Cut(begun, resume, " " if paused else ""))
            self._open.append((subclause, resume, True))
            return resume
        at = self._behind_request(mark.start(), start)
        self._cuts.append(Cut(at, told_end))
        self._governed.append(Governed(subclause, at, at))
        return told_end

    def _none_within(self, mark: re.Match[str], start: int, end: int) -> int | None:
        """Something else is to be done where nothing is within a bound on what is ordered.

        "If there's none under 150 EUR, take the train" bounds the flight before it. Where to go on
        reading, or None.
        """
        none = NONE_THERE.match(self._goal, mark.end(), end)
        ordered = read_clause((split_clauses(self._goal[: mark.start()]) or ("",))[-1])
        if none is None or mark.re is not CONDITION or reverses_what(mark.group()):
            return None
        within = bound_in(self._goal[none.end() : end])
        if not (within and ordered.asks_side_effect) or ordered.action in _OF_WHAT_IS_THERE:
            return None
        stop = none.end() + len(within)
        gap = _SPACE.match(self._goal, stop)
        resume = gap.end() if gap else stop
        if not tokens(self._goal[resume:end]):
            return None
        at = self._behind_request(mark.start(), start)
        self._cuts.append(Cut(at, resume, f" {within.strip()}; "))
        text = self._goal[mark.start() : stop]
        self._open.append((Subclause("instead", text, text), resume, True))
        self._last = None
        return resume

    def _undone(
        self, mark: re.Match[str], told: str, start: int, resume: int, end: int
    ) -> int | None:
        """What was ordered is not to be done then: "If it is over 200 EUR, don't".

        A bound on what is ordered bounds it the other way round. Where that ends, or None.
        """
        nothing = _NOTHING.match(self._goal, resume, end)
        ordered = read_clause((split_clauses(self._goal[: mark.start()]) or ("",))[-1])
        verb = (nothing["verb"] or "do").lower() if nothing else ""
        if nothing is None or not ordered.verb or verb not in (*_DOING, ordered.verb):
            return None
        at, whole = self._behind_request(mark.start(), start), in_full(told)
        bound = reversed_bound(whole) if is_own_limit(whole) else ""
        if bound and ordered.action not in _OF_WHAT_IS_THERE:
            self._cuts.append(Cut(at, nothing.end(), f" {bound}"))
            return nothing.end()
        unless = reverses_what(mark.group())
        self._last = Subclause("condition", f"{mark.group()} {told}", whole, unless)
        self._cuts.append(Cut(at, nothing.end()))
        self._governed.append(Governed(self._last, at, at, as_said=False))
        return nothing.end()

    def _behind_request(self, at: int, start: int) -> int:
        """Where the request ends that what begins here follows."""
        joined = _ENDS_JOINED.search(self._goal[:at])
        end = joined.start() if joined else at
        if self._goal[start:end].strip():
            return end
        return len(self._goal[: self._asked_until].rstrip(" .!;\n"))

    def _put_behind(self, mark: re.Match[str], told: str, resume: int, end: int) -> int:
        """What bounds a thing is of the request that it leads: "if it is under 9, book it"."""
        spans = clause_spans(self._goal[resume:end])
        stop = resume + (spans[0][1] if spans else 0)
        self._cuts.append(Cut(mark.start(), resume))
        self._cuts.append(Cut(stop, stop, f" {mark.group()} {told}"))
        return stop

    def _keep_with_request(self, at: int, start: int) -> None:
        """What bounds a thing is of its request, whatever stands between: ", but only if"."""
        joined = _ENDS_JOINED.search(self._goal[start:at])
        if joined and joined.start():
            self._cuts.append(Cut(start + joined.start(), at, " "))

    def _meant(
        self, mark: re.Match[str], told: str, start: int, following: str | None
    ) -> Subclause | None:
        """What a word and what follows it mean; None when it is part of the request.

        `following` is the request that it leads; None where it follows its own.
        """
        goal, word, leads = self._goal, mark.group(), following is not None
        text = goal[mark.start() : mark.end()] + " " + told
        told = as_stated(told) if is_inverted(word) else in_full(told)
        said = (
            read_clause(goal[start : mark.start()]) if goal[start : mark.start()].strip() else None
        )
        if mark.re is not CONDITION:
            asks = said is not None and said.action in (Action.READ, Action.SEARCH)
            done = not DONE_STEMS.isdisjoint(map(stem, tokens(told))) and _THING.match(told)
            if (asks and not leads) or not (done or _is_awaited(told, following or "")):
                return None
            return Subclause("awaited", text, told)
        there = said is not None and said.action in _OF_WHAT_IS_THERE
        # "Check the weather, and if it's above 5 degrees book a table" bounds no table.
        looks = said is not None and said.action in (Action.READ, Action.SEARCH)
        of_another = looks and following is not None and not reference_in(following)
        if is_idle(word, told) or (is_own_limit(told) and not there and not of_another):
            return None
        strict = " ".join(word.lower().split()) in _STRICT
        if said is not None and said.action is Action.SEND and not (leads or strict):
            return None
        if leads and self._cannot_be(told, mark.start()):
            return Subclause("instead", text, told)
        return Subclause("condition", text, told, is_unless=reverses_what(word))

    def _cannot_be(self, told: str, at: int) -> bool:
        """Whether it says that what was asked for before cannot be done: "if it is sold out"."""
        words = tokens(told)
        fails = not _INFEASIBLE.isdisjoint(words)
        if not fails and not (_NOT.search(told) and not _FEASIBLE.isdisjoint(words)):
            return False
        known = {*content_stems(self._goal[:at])}
        rest = {*content_stems(told)} - {stem(w) for w in (*_FEASIBLE, *_INFEASIBLE)}
        return rest <= known and bool(self._goal[:at].strip())

    def _extent(self, mark: re.Match[str], start: int, end: int) -> tuple[int, int, bool]:
        """Where what is told ends, where to go on, and whether its requests follow it."""
        goal = self._goal
        before = goal[start : mark.start()]
        follows = not _JOINT_BEFORE.search(before) if before.strip() else False
        if not follows:
            only_paused = bool(before.strip()) and not _AND_BEFORE.search(before)
            inside = bool(before.strip())
            leading = self._leading_end(mark.end(), end, inside=inside, only_paused=only_paused)
            if leading is not None:
                return (*leading, True)
        return (*self._trailing_end(mark.end(), end), False)

    def _leading_end(
        self, at: int, end: int, *, inside: bool, only_paused: bool
    ) -> tuple[int, int] | None:
        """The end of a condition whose requests follow: a pause, or where an order begins."""
        goal = self._goal
        # The other case of it has pauses of its own: "if it rains book a room, and if not, a car".
        others = (p.search(goal, at, end) for p in (OPPOSITE, SO))
        other = min((found.start() for found in others if found), default=end)
        pauses = [p for p in _PAUSE.finditer(goal, at, other) if not self._is_quoted(p.start())]
        for pause in pauses[:1] if inside else pauses:
            if self._orders_or_undoes(pause.end(), end):
                if only_paused and _JOINING.match(goal, pause.end()):
                    return None
                gap = _SPACE.match(goal, pause.end())
                return pause.start(), gap.end() if gap else pause.end()
        if only_paused:
            return None
        begun = None if inside and pauses else self._order_after(at, end)
        if begun is not None:
            return begun, begun
        if pauses and tokens(goal[pauses[0].end() : end]):
            gap = _SPACE.match(goal, pauses[0].end())
            return pauses[0].start(), gap.end() if gap else pauses[0].end()
        return None

    def _orders_or_undoes(self, at: int, end: int) -> bool:
        """Whether a request begins there, or "don't", which takes one back."""
        gap = _SPACE.match(self._goal, at)
        nothing = _NOTHING.match(self._goal, gap.end() if gap else at, end)
        return nothing is not None or begins_request(self._goal[at:end], firm=True)

    def _order_after(self, at: int, end: int) -> int | None:
        """Where an order begins that no pause tells from the condition before it."""
        words = list(_WORD.finditer(self._goal, at, end))
        for previous, word in pairwise(words[1:]):
            if previous.group().lower() in _NO_END or self._is_quoted(word.start()):
                continue
            if begins_request(self._goal[word.start() : end]):
                return word.start()
        return None

    def _trailing_end(self, at: int, end: int) -> tuple[int, int]:
        """The end of a condition that follows its request."""
        stops = [end]
        stops += [p.start() for p in _PAUSE.finditer(self._goal, at, end)]
        stops += [
            j.start()
            for j in _JOINING.finditer(self._goal, at, end)
            if begins_request(self._goal[j.end() : end])
        ]
        stops += [
            m.start()
            for m in OPPOSITE.finditer(self._goal, at, end)
            if self._stands_alone(m, at, end)
        ]
        stop = min(stops)
        return stop, stop

    def _is_quoted(self, at: int) -> bool:
        return any(a <= at < b for a, b in self._quoted)
