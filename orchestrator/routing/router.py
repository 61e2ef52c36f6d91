"""The router: from a request to the few tools its planner should see."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.language.intent import IntentFrame
from orchestrator.language.slots import read_slots, warm_up
from orchestrator.language.words import name_stems
from orchestrator.routing.cards.capability_card import make_cards
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.deadline import Deadline, OutOfTime
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.reading.frame import ClauseReading, frame_of, read_clause
from orchestrator.routing.reading.reader import RequestReader
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.scoring.scorer import Scored, Scorer, ScoreTable
from orchestrator.routing.selection import USED, RouteContext, Selection
from orchestrator.routing.width.adaptive_k import CEILING, adaptive_k
from orchestrator.routing.width.confidence import chances_of
from orchestrator.routing.width.fitness import fitness, signs_of
from orchestrator.routing.width.scored_request import (
    ScoredRequest,
    in_order,
    merged,
    signs_in,
    texts_of,
    with_unwanted,
)

TIMEOUT_S = 0.05
"""How long one routing may take, in seconds."""
_SCORES_KEPT = 20
_FED = 3


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
        similarity: CardSimilarity | None = None,
        cards: CardCache | None = None,
    ) -> None:
        """Prepare the cards and indexes of a catalog.

        Args:
            catalog: the tools; a new catalog needs a new router.
            profile: feature weights and thresholds; the fitted defaults when None.
            clock: seconds from any origin, e.g. time.monotonic; None: routing takes what it takes.
            timeout_s: how long one routing may take before every tool is forwarded.
            similarity: an embedder's view of the catalog's cards, one more feature; when it has no
                answer, the others decide.
            cards: those made for earlier routers, to be used again; None: all are made.
        """
        self._clock = clock
        self._timeout_s = timeout_s
        self._similarity = similarity
        self._catalog = catalog
        self._profile = profile or RoutingProfile()
        tools = tuple(catalog.tools.values())
        self._cards = make_cards(tools) if cards is None else cards.of(tools)
        self._by_name = {card.name: card for card in self._cards}
        self._vocabulary = CatalogVocabulary(self._cards)
        self._scorer = Scorer(self._cards, self._vocabulary, self._profile)
        self._reader = RequestReader(self._cards, self._vocabulary, self._scorer.knows)
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

    def unhurried(self) -> "Router":
        """The same router for a caller that can wait: every tool is forwarded on errors only."""
        patient = copy(self)
        patient._clock = None
        return patient

    def explain(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Explanation:
        """The selection together with the features that led to it."""
        return self._attempt(text, context or RouteContext(), now)

    def read(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> IntentFrame:
        """What is understood of a request before any tool is looked at; see `route`."""
        context = context or RouteContext()
        clauses, slots, _ = self._reader.read(text, context, now)
        return frame_of(clauses, slots, vocabulary=self._vocabulary, context=context)

    def best_score(self, text: str, *, among: Collection[str] | None = None) -> float:
        """How well the tool that fits a text best fits it, 0 to 1; see `fitness`.

        Comparable between texts over one catalog, unlike the scores of a selection.

        Args:
            text: the request.
            among: the tools to consider; all when None.
        """
        return fitness(self.fitness_signs(text, among=among))

    def fitness_signs(self, text: str, *, among: Collection[str] | None = None) -> Floats:
        """What `best_score` is read from; shape (n_tools, len(fitness.SIGNS))."""
        reading = read_clause(text, verbs=self._vocabulary.verbs)
        slots = read_slots(text, now=None)
        table = self._scorer.score(reading, slots, RouteContext())
        weights = self._scorer.weights(reading.stems, slots)
        tools = table.names if among is None else among
        return signs_of(
            reading,
            slots,
            table=table,
            weights={name: weights[name] for name in tools if name in weights},
            cards=self._by_name,
        )

    def fits(self, text: str) -> bool:
        """Whether any tool of the catalog can do what the text asks."""
        slots = read_slots(text, now=None)
        names = {word for s in slots if s.kind == "name" for word in name_stems(s.text)}
        stems = self._reader.clause(text, slots, mend=True).stems
        said = [word for word in stems if word not in names or self._scorer.knows(word)]
        strength = self._scorer.strength(said, slots)
        return strength >= self._profile.fits and self._reader.knows_order(text)

    def rank(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> list[str]:
        """The candidates, best first, each of the first ones followed by what feeds it.

        This is the order in which a fixed number of tools would be forwarded.
        """
        context = context or RouteContext()
        reading = self._read(text, context, now, Deadline(None, 0))
        order: dict[str, None] = {}
        ranked = merged(reading)
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

        The signs are of shape (4, len(SIGNS)); see `orchestrator.routing.width.confidence`.
        """
        reading = self._read(text, RouteContext(), None, Deadline(None, 0))
        ranked = merged(reading)
        names = [name for name, _ in ranked]
        scores = dict(ranked)
        forwarded = (
            (*names[:k], *self._feeders(names[:k], reading, RouteContext(), scores))
            for k in range(1, CEILING + 1)
        )
        return signs_in(reading, ranked), tuple(forwarded)

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
    ) -> ScoredRequest:
        """The text as it is written; where nothing fits that, as it may have been meant."""
        reading = self._read_as(text, context, now, deadline)
        if reading.strength >= self._profile.fits or self._reader.mended(text) == text:
            return reading
        meant = self._read_as(text, context, now, deadline, mend=True)
        return meant if meant.strength > reading.strength else reading

    def _read_as(
        self,
        text: str,
        context: RouteContext,
        now: datetime | None,
        deadline: Deadline,
        *,
        mend: bool = False,
    ) -> ScoredRequest:
        """The frame of the text, and the feature tables of the whole and of each clause."""
        clauses, slots, own = self._reader.read(text, context, now, mend=mend)
        deadline.check("reading")
        frame = frame_of(clauses, slots, vocabulary=self._vocabulary, context=context)
        asked = [i for i, c in enumerate(clauses) if not c.is_negated] or list(range(len(clauses)))
        clauses = with_unwanted(clauses)
        wanted = [clauses[i] for i in asked]
        near, embedder = self._nearness(wanted)
        deadline.check("embedding")
        scored = texts_of(wanted, (slots, *(own[i] for i in asked)), context, near)
        tables = self._scorer.score_all(scored, check=partial(deadline.check, "scoring"))
        whole = self._or_goal(tables, scored, context)
        deadline.check("scoring")
        return ScoredRequest(frame, slots, tuple(wanted), whole, tuple(tables[1:]), embedder)

    def _nearness(self, clauses: Sequence[ClauseReading]) -> tuple[list[Floats | None], str]:
        """How near the cards are to all clauses as one text, then to each; and how that went."""
        nothing: list[Floats | None] = [None] * (len(clauses) + 1)
        if self._similarity is None or not clauses:
            return nothing, ""
        texts = [c.text for c in clauses]
        try:
            rows = self._similarity.of([". ".join(texts), *(texts if len(texts) > 1 else ())])
        except EmbedderUnavailable as error:
            return nothing, error.reason
        except Exception as error:  # whatever an embedder does, the other features decide
            return nothing, f"{type(error).__name__} in the embedder"
        return [*rows], USED

    def _or_goal(
        self, tables: Sequence[ScoreTable], scored: Sequence[Scored], context: RouteContext
    ) -> ScoreTable | None:
        """The table of all clauses as one text; where no word tells, that of the mission's goal."""
        if not tables:
            return None
        if tables[0].strength == 0 and context.goal not in ("", scored[0].reading.text):
            return self._scorer.score(read_clause(context.goal), scored[0].slots, context)
        return tables[0]

    def _select(self, reading: ScoredRequest, context: RouteContext) -> Explanation:
        ranked = merged(reading)
        winners = reading.winners
        chances = chances_of(signs_in(reading, ranked), reading.tables, fits=self._profile.fits)
        frame = reading.frame.model_copy(update={"confidence": chances[0]})
        width = adaptive_k(
            chances,
            clauses=len(winners),
            is_retry=frame.previous_tool_error,
            is_side_effect=frame.side_effect_allowed or self._has_side_effect(winners),
            profile=self._profile,
        )
        chosen = in_order([name for name, _ in ranked[: width.k]], winners)
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
            embedder=reading.embedder,
        )
        texts = [c.text for c in reading.clauses]
        return Explanation(selection, tuple(zip(texts, reading.tables, strict=False)))

    def _feeders(
        self,
        names: Sequence[str],
        reading: ScoredRequest,
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
