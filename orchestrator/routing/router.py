"""The router: from a request to the few tools its planner should see."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.intent import IntentFrame, Slot
from orchestrator.routing.adaptive_k import CEILING, adaptive_k
from orchestrator.routing.cards import make_card
from orchestrator.routing.clauses import clause_spans, without_lead
from orchestrator.routing.confidence import chances_of, signs_of
from orchestrator.routing.deadline import Deadline, OutOfTime
from orchestrator.routing.frame import ClauseReading, frame_of, joined, read_clause
from orchestrator.routing.phrases import warm_up
from orchestrator.routing.prerequisites import Producers
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scorer import Scorer, ScoreTable
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.routing.slots import read_slots
from orchestrator.routing.terms import Floats
from orchestrator.routing.vocabulary import CatalogVocabulary
from orchestrator.routing.words import STOP_WORDS, content_stems, is_verb, stem

TIMEOUT_S = 0.05
"""How long one routing may take, in seconds."""
# A command and what it is to be done to or for: "sell my car", "paint the house".
_ORDER: Final = re.compile(
    r"(?P<verb>[a-z]+)\s+(?:me|us|my|our|him|her|them|the|a|an)\s+\w", re.IGNORECASE
)
_SCORES_KEPT = 20
_FED = 3


@dataclass(frozen=True, slots=True)
class _Reading:
    """A request, read and scored; a request of one clause has no parts."""

    frame: IntentFrame
    slots: tuple[Slot, ...]
    clauses: tuple[ClauseReading, ...]
    whole: ScoreTable | None
    parts: tuple[ScoreTable, ...]

    @property
    def tables(self) -> tuple[ScoreTable, ...]:
        """One table per clause that asks for something."""
        return self.parts or ((self.whole,) if self.whole else ())

    @property
    def winners(self) -> tuple[str, ...]:
        """The best tool of each clause."""
        return tuple(dict.fromkeys(table.names[0] for table in self.tables if table.names))


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a selection came out as it did: the feature table of each clause."""

    selection: Selection
    tables: tuple[tuple[str, ScoreTable], ...]


class Router:
    """Routes requests over one catalog; immutable, safe to share between threads."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        profile: RoutingProfile | None = None,
        clock: Callable[[], float] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Prepare the cards and indexes of a catalog.

        Args:
            catalog: the tools; a new catalog needs a new router.
            profile: feature weights and thresholds; the fitted defaults when None.
            clock: seconds from any origin, e.g. time.monotonic; None: routing takes what it takes.
            timeout_s: how long one routing may take before every tool is forwarded.
        """
        self._clock = clock
        self._timeout_s = timeout_s
        self._catalog = catalog
        self._profile = profile or RoutingProfile()
        self._cards = tuple(make_card(tool) for tool in catalog.tools.values())
        self._by_name = {card.name: card for card in self._cards}
        self._vocabulary = CatalogVocabulary(self._cards)
        self._scorer = Scorer(self._cards, self._vocabulary, self._profile)
        self._producers = Producers(self._cards)
        warm_up()

    def route(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Selection:
        """The tools for a request, best first, prerequisites last.

        Args:
            text: the request.
            context: what the step knows beside it.
            now: the requester's time; None leaves relative dates unread.

        Returns:
            A selection; never raises: any error inside, and more time than it may take, forwards
            every tool (band fail_open). The reason names the error's type or the stage that took
            too long, with nothing of the request in it.
        """
        return self._attempt(text, context or RouteContext(), now).selection

    def explain(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Explanation:
        """The selection together with the features that led to it."""
        return self._attempt(text, context or RouteContext(), now)

    def best_score(self, text: str, *, among: Collection[str] | None = None) -> float:
        """How strongly the words of a text speak for the tool they fit best, 0 and up.

        Comparable between texts, unlike the scores of a selection.

        Args:
            text: the request.
            among: the tools to consider; all when None.
        """
        slots = read_slots(text, now=None)
        weights = self._scorer.weights(content_stems(text), slots)
        return max((w for n, w in weights.items() if among is None or n in among), default=0.0)

    def fits(self, text: str) -> bool:
        """Whether any tool of the catalog can do what the text asks."""
        strength = self._scorer.strength(content_stems(text), read_slots(text, now=None))
        return strength >= self._profile.fits and self._knows_order(text)

    def _knows_order(self, text: str) -> bool:
        """Whether the verb of an order, and what it is to be done to, mean anything here.

        "Sell my car" where nothing is sold, or "book me a massage" where nobody gives any, shares
        a word with tools that do something else.
        """
        reading = read_clause(text, verbs=self._vocabulary.verbs)
        ordered = _ORDER.match(without_lead(text))
        verb = ordered["verb"].lower() if ordered else ""
        if verb and verb not in STOP_WORDS and not reading.is_negated and not is_verb(verb):
            return self._scorer.knows(stem(verb))
        if not reading.asks_side_effect or not self._is_vague(reading.verb):
            return True
        if any(not word.islower() for word in reading.objects):
            return True
        objects = [word for name in reading.objects for word in content_stems(name)]
        return not objects or any(self._scorer.knows(word) for word in objects)

    def _is_vague(self, verb: str) -> bool:
        """Whether tools of several domains have that verb, so that it says little on its own."""
        return len({card.domain for card in self._cards if card.verb == verb}) > 1

    def rank(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> list[str]:
        """The candidates, best first, each of the first ones followed by what feeds it.

        This is the order in which a fixed number of tools would be forwarded.
        """
        context = context or RouteContext()
        reading = self._read(text, context, now, Deadline(None, 0))
        order: dict[str, None] = {}
        ranked = _merge(reading)
        for position, (name, _) in enumerate(ranked):
            order.setdefault(name)
            if position < _FED:
                order |= dict.fromkeys(self._feeders([name], reading, context, dict(ranked)))
        return list(order)

    def tables(self, text: str) -> tuple[ScoreTable, ...]:
        """What is known of the candidates: one table for the whole text, one for each clause."""
        reading = self._read(text, RouteContext(), None, Deadline(None, 0))
        return (reading.whole, *reading.parts) if reading.whole else ()

    def signs(self, text: str) -> tuple[Floats, tuple[tuple[str, ...], ...]]:
        """What confidence is read from, and what each width from 1 to 4 would forward.

        The signs are of shape (4, len(SIGNS)); see `orchestrator.routing.confidence`.
        """
        reading = self._read(text, RouteContext(), None, Deadline(None, 0))
        ranked = _merge(reading)
        names = [name for name, _ in ranked]
        scores = dict(ranked)
        forwarded = (
            (*names[:k], *self._feeders(names[:k], reading, RouteContext(), scores))
            for k in range(1, CEILING + 1)
        )
        return _signs(reading, ranked), tuple(forwarded)

    def _attempt(self, text: str, context: RouteContext, now: datetime | None) -> Explanation:
        """Read, score, select; on any error, or out of time, the whole catalog."""
        try:
            deadline = Deadline(self._clock, self._timeout_s)
            reading = self._read(text, context, now, deadline)
            explanation = self._select(reading, context)
            deadline.check("selecting")
            return explanation
        except OutOfTime as late:
            return Explanation(fail_open(self._catalog, str(late)), ())
        except Exception as error:  # the request must go on, whatever is wrong in here
            return Explanation(
                fail_open(self._catalog, f"{type(error).__name__} in the router"), ()
            )

    def _read(
        self, text: str, context: RouteContext, now: datetime | None, deadline: Deadline
    ) -> _Reading:
        """The frame of the text, and the feature tables of the whole and of each clause."""
        verbs = self._vocabulary.verbs
        spans = clause_spans(text, verbs=verbs)
        clauses = [read_clause(text[start:end], verbs=verbs) for start, end in spans]
        slots = read_slots(text, now=now)
        deadline.check("reading")
        frame = frame_of(clauses, slots, vocabulary=self._vocabulary, context=context)
        asked = [i for i, c in enumerate(clauses) if not c.is_negated] or list(range(len(clauses)))
        clauses = _with_unwanted(clauses)
        whole = self._score_whole([clauses[i] for i in asked], slots, context)
        deadline.check("scoring")
        parts: list[ScoreTable] = []
        if len(asked) > 1:
            for i in asked:
                own = [s for s in slots if spans[i][0] <= s.position < spans[i][1]]
                parts.append(self._scorer.score(clauses[i], own, context))
                deadline.check("scoring")
        return _Reading(frame, slots, tuple(clauses[i] for i in asked), whole, tuple(parts))

    def _score_whole(
        self, clauses: Sequence[ClauseReading], slots: Sequence[Slot], context: RouteContext
    ) -> ScoreTable | None:
        """The table of all clauses as one text; where no word tells, that of the mission's goal."""
        if not clauses:
            return None
        whole = joined(clauses)
        table = self._scorer.score(whole, slots, context)
        if table.strength == 0 and context.goal not in ("", whole.text):
            return self._scorer.score(read_clause(context.goal), slots, context)
        return table

    def _select(self, reading: _Reading, context: RouteContext) -> Explanation:
        ranked = _merge(reading)
        winners = reading.winners
        chances = chances_of(_signs(reading, ranked), reading.tables, fits=self._profile.fits)
        frame = reading.frame.model_copy(update={"confidence": chances[0]})
        width = adaptive_k(
            chances,
            clauses=len(winners),
            is_retry=frame.previous_tool_error,
            is_side_effect=frame.side_effect_allowed or self._has_side_effect(winners),
            profile=self._profile,
        )
        chosen = _in_order([name for name, _ in ranked[: width.k]], winners)
        prerequisites = self._feeders(chosen, reading, context, dict(ranked))
        selection = Selection(
            tools=(*chosen, *prerequisites),
            k=width.k,
            band=width.band,
            reason=width.reason,
            frame=frame,
            scores=dict(ranked[:_SCORES_KEPT]),
            chances=chances,
            prerequisites=prerequisites,
            catalog_size=len(self._cards),
        )
        texts = [c.text for c in reading.clauses]
        return Explanation(selection, tuple(zip(texts, reading.tables, strict=False)))

    def _feeders(
        self,
        names: Sequence[str],
        reading: _Reading,
        context: RouteContext,
        scores: Mapping[str, float],
    ) -> tuple[str, ...]:
        return self._producers.prerequisites(
            names, known=context.known, slots=reading.slots, scores=scores
        )

    def _has_side_effect(self, names: Iterable[str]) -> bool:
        cards = (self._by_name[name] for name in names)
        return any(card.is_side_effect or card.is_mutation for card in cards)


def fail_open(catalog: Catalog, reason: str) -> Selection:
    """Every tool of the catalog, and why."""
    return Selection(
        tools=tuple(catalog.tools),
        k=len(catalog.tools),
        band="fail_open",
        reason=reason,
        frame=IntentFrame(),
        catalog_size=len(catalog.tools),
    )


def _signs(reading: _Reading, ranked: Sequence[tuple[str, float]]) -> Floats:
    return signs_of(
        [score for _, score in ranked],
        reading.tables,
        requests=len(reading.winners),
        words=len({word for clause in reading.clauses for word in clause.stems}),
    )


def _with_unwanted(clauses: Sequence[ClauseReading]) -> list[ClauseReading]:
    """The clauses, each told what the negated ones say and no other does."""
    wanted = {word for c in clauses if not c.is_negated for word in c.stems}
    unwanted = tuple(w for c in clauses if c.is_negated for w in c.stems if w not in wanted)
    if not unwanted or not wanted:
        return list(clauses)
    return [replace(c, unwanted=unwanted) for c in clauses]


def _merge(reading: _Reading) -> list[tuple[str, float]]:
    """Candidates with their fused scores, best first, ties by name.

    With several clauses, the best that any clause says plus what the whole says, each relative to
    its own best: so that every clause gets its tool near the top.
    """
    if reading.whole is None:
        return []
    scores = dict(zip(reading.whole.names, reading.whole.fused.tolist(), strict=True))
    if reading.parts:
        scores = _relative(reading.whole)
        best: dict[str, float] = {}
        for part in reading.parts:
            for name, score in _relative(part).items():
                best[name] = max(score, best.get(name, 0.0))
        for name, score in best.items():
            scores[name] = scores.get(name, 0.0) + score
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _relative(table: ScoreTable) -> dict[str, float]:
    top = max(float(table.fused[0]), 1e-9) if len(table.fused) else 1.0
    return {n: s / top for n, s in zip(table.names, table.fused.tolist(), strict=True)}


def _in_order(chosen: Sequence[str], winners: Sequence[str]) -> tuple[str, ...]:
    """The chosen tools; those that are the best of a clause first, in the order of the clauses."""
    return tuple(dict.fromkeys([*(w for w in winners if w in chosen), *chosen]))
