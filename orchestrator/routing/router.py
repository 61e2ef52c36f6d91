"""The router: selects the few tools that the planner should see for a request."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Final, NamedTuple

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.read_once import read_once
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.intent import IntentFrame, Slot
from orchestrator.language.values import warm_up
from orchestrator.routing.cards.capability_card import CardCache, make_cards
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.clause_reading import ClauseReading, joined
from orchestrator.routing.profile import PROXY_LIMIT_S, Deadline, OutOfTime, RoutingProfile
from orchestrator.routing.request_parser import RequestParser
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards
from orchestrator.routing.scoring.request_scoring import (
    RECENT,
    RequestScorer,
    ScoredRequest,
    in_order,
    merged,
)
from orchestrator.routing.scoring.scorer import (
    FITTED_TO,
    Fitness,
    FittedRequest,
    Scorer,
    ScoreTable,
    without_values,
)
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.routing.width import Needs, adaptive_k, needs_of, of_nothing

_STATED = 0.85
"""Minimum confidence in a tool when the request consists only of its whole name or one of its
examples: enough for a reading tool, not for a side effect, as words may coincide by chance."""


class _Measured(NamedTuple):
    """A scored request's merged scores, needed tools and chances; how well the best tool fits."""

    scores: Mapping[str, float]
    needs: Needs
    chances: tuple[float, ...]
    fitness: float
    fits: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """A selection and the scored request behind it; None if routing failed."""

    selection: Selection
    request: ScoredRequest | None = None

    @property
    def tables(self) -> tuple[tuple[str, ScoreTable], ...]:
        """The clauses that request something, each with its feature table."""
        if self.request is None:
            return ()
        texts = [clause.text for clause in self.request.clauses]
        return tuple(zip(texts, self.request.tables, strict=False))


class Router:
    """Routes requests over one catalog; immutable, safe to share between threads."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        profile: RoutingProfile | None = None,
        clock: Callable[[], float] | None = None,
        timeout_s: float = PROXY_LIMIT_S,
        similarity: CardSimilarity | None = None,
        cards: CardCache | None = None,
    ) -> None:
        """Prepare the cards and indexes of a catalog.

        Args:
            catalog: the tools; a new catalog needs a new router.
            profile: feature weights and thresholds; the fitted defaults when None.
            clock: seconds from any origin, e.g. time.monotonic; None: no time limit.
            timeout_s: time after which one routing forwards every tool, for callers that set no
                limit themselves.
            similarity: an embedder's view of the catalog's cards, as one more feature; without its
                answer, the others decide.
            cards: caches cards for later routers; None: all are made.
        """
        self.similarity: Final = similarity
        self._clock = clock
        self._timeout_s = timeout_s
        self._catalog = catalog
        self._profile = profile or RoutingProfile()
        tools = tuple(catalog.tools.values())
        self._cards = make_cards(tools) if cards is None else cards.of(tools)
        self._by_name = {card.name: card for card in self._cards}
        self._by_domain: dict[str, list[str]] = defaultdict(list)
        # Only reading tools as padding, since nobody asked for the padding.
        self._filling = [card.name for card in sorted(self._cards, key=lambda c: c.is_change)]
        for name in self._filling:
            self._by_domain[self._by_name[name].domain].append(name)
        self._by_example: dict[frozenset[str], set[str]] = defaultdict(set)
        for card in self._cards:
            for example in card.example_stems:
                self._by_example[frozenset(example)].add(card.name)
        self._vocabulary = CatalogVocabulary(self._cards)
        self._scorer = Scorer(self._cards, self._vocabulary, self._profile)
        self._parser = RequestParser(
            self._cards, self._vocabulary, self._scorer.evidence, self._profile
        )
        self._requests = RequestScorer(self._parser, self._scorer, similarity)
        embedder = similarity.embedder if isinstance(similarity, EmbeddedCards) else ""
        self._fitness = Fitness(self._cards, has_vectors=embedder.startswith(FITTED_TO))
        self._producers = Producers(self._cards)
        self._measured = read_once(self._measure, most=RECENT)
        warm_up()

    def route(
        self,
        text: str,
        context: RouteContext | None = None,
        *,
        now: datetime | None = None,
        limit_s: float | None = None,
    ) -> Selection:
        """Return the tools for a request, best first, prerequisites last.

        Args:
            text: the request.
            context: the context of the step.
            now: the requester's time; None leaves relative dates without a value.
            limit_s: this caller's time limit, in seconds of the router's clock: `PROXY_LIMIT_S`,
                `STEP_LIMIT_S`. None: the router's own limit. Without a clock there is none.

        Returns:
            A selection. The method never raises: any internal error, or an exceeded limit, forwards
            every tool (band fail_open). The reason names the error's type or the stage that took
            too long, and quotes nothing of the request. No tool outside the context's walls is ever
            in it.
        """
        return self._attempt(text, context or RouteContext(), now, limit_s).selection

    def explain(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Explanation:
        """Return the selection together with the features that led to it."""
        return self._attempt(text, context or RouteContext(), now)

    def without_deadline(self) -> "Router":
        """Return the same router without a time limit; only errors then forward every tool."""
        router = copy(self)
        router._clock = None
        return router

    def best_score(self, text: str, *, among: Collection[str] | None = None) -> float:
        """Return how well the best tool fits a text, 0 to 1; see `Fitness.best`.

        Unlike the scores of a selection, it is comparable between texts and between catalogs.

        Args:
            text: the request.
            among: the tools to consider; all when None.
        """
        walls = () if among is None else (Wall(agent="", tools=tuple(sorted(among)) or ("",)),)
        return self._fit(self._requests.score(text, RouteContext(walls=walls), None)[1])[0]

    def feeders(self, name: str) -> tuple[str, ...]:
        """Return the tools that produce inputs of a tool that no person types, nearest first."""
        return self._producers.prerequisites([name])

    def rank(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> list[str]:
        """Return all tools, best first, the first three each followed by its prerequisites.

        This is the order in which a fixed number of tools would be forwarded. Tools without a
        matching word come last.
        """
        context = context or RouteContext()
        _, reading = self._requests.score(text, context, now)
        scores = merged(reading)
        order: dict[str, None] = {}
        for position, name in enumerate(scores):
            order.setdefault(name)
            if position < 3:
                order |= dict.fromkeys(self._prerequisites([name], reading, scores, context))
        return [*order, *self._unasked(order, reading.winners, context)]

    def _attempt(
        self, text: str, context: RouteContext, now: datetime | None, limit_s: float | None = None
    ) -> Explanation:
        try:
            deadline = Deadline(self._clock, self._timeout_s if limit_s is None else limit_s)
            frame, request = self._requests.score(text, context, now, deadline)
            scores, needs, chances, fitness, fits = self._measured(request)
            winners = request.winners
            cards = [self._by_name[name] for name in winners]
            confidence = chances[0]
            frame = frame.model_copy(update={"confidence": confidence})
            width = adaptive_k(
                chances,
                clauses=len(winners),
                is_retry=frame.previous_tool_error,
                is_side_effect=frame.side_effect_allowed or any(card.is_change for card in cards),
                profile=self._profile,
            )
            if not fits:
                width = of_nothing(width)
            chosen = in_order(needs.names[: width.k], winners)
            padding = tuple(islice(self._unasked(scores, winners, context), width.k - len(chosen)))
            prerequisites = self._prerequisites(chosen, request, scores, context)
            selection = Selection(
                tools=tuple(dict.fromkeys((*chosen, *padding, *prerequisites))),
                k=width.k,
                band=width.band,
                reason=width.reason,
                frame=frame,
                scores={name: scores[name] for name in [*scores][:20]},
                chances=chances,
                prerequisites=prerequisites,
                padding=tuple(name for name in padding if name not in prerequisites),
                catalog_size=len(self._cards),
                embedder=request.embedder,
                fits=fits,
                fitness=fitness,
            )
            deadline.check("selecting")
            return Explanation(selection, request)
        except OutOfTime as late:
            return Explanation(fail_open(self._catalog, str(late), context.walls))
        except Exception as error:  # the request must proceed despite any error here
            reason = f"{type(error).__name__} in the router"
            return Explanation(fail_open(self._catalog, reason, context.walls))

    def _measure(self, request: ScoredRequest) -> _Measured:
        scores = merged(request)
        needs = needs_of(request, scores)
        # The chance that one tool suffices, capped by the evidence of the clauses alone.
        confidence, *wider = needs.covered()
        clauses = [*zip(request.tables, request.clauses, strict=False)]
        least = min((table.strength for table in request.tables), default=0.0)
        if clauses and all(self._is_stated(*one, request.slots) for one in clauses):
            confidence = max(confidence, _STATED)
        elif least <= 0:
            confidence = 0.0
        elif least < self._profile.fits:
            confidence = min(confidence, 0.5)
        chances = (confidence, *(max(chance, confidence) for chance in wider))
        return _Measured(scores, needs, chances, *self._fit(request))

    def _is_stated(self, table: ScoreTable, clause: ClauseReading, slots: Sequence[Slot]) -> bool:
        """Return True if a clause is the name or an example of its best tool and of no other."""
        stems = frozenset(clause.stems)
        # Words that the catalog knows and this tool does not are about something else as well.
        words = without_values(stems, slots)
        strange = words - self._fitness.words_of(table.names[0]) if table.names else words
        if any(map(self._scorer.evidence.knows, strange)):
            return False
        cards = [self._by_name[name] for name in table.names]
        named = self._by_example.get(stems, ())
        said = [card for card in cards if card.name in named]
        said = said or [card for card in cards if card.is_named_by(stems)]
        return bool(said) and said == cards[:1]

    def _fit(self, request: ScoredRequest) -> tuple[float, bool]:
        """Return how well the best tool fits a request, 0 to 1, and whether that suffices."""
        if request.whole is None:
            return 0.0, False
        known = any(self._parser.knows_order(clause.text) for clause in request.clauses)
        whole = joined(request.clauses)
        asked = FittedRequest(whole, request.slots, request.whole, known)
        fitness = self._fitness.best(asked)
        return fitness, known and fitness >= self._profile.least_fitness

    def _prerequisites(
        self,
        chosen: Sequence[str],
        request: ScoredRequest,
        scores: Mapping[str, float],
        context: RouteContext,
    ) -> tuple[str, ...]:
        return self._producers.prerequisites(
            chosen,
            known=context.known,
            slots=request.slots,
            scores=scores,
            walls=context.walls,
        )

    def _unasked(
        self, scores: Collection[str], winners: Iterable[str], context: RouteContext
    ) -> Iterator[str]:
        """Yield tools without a matching word, those of the best tools' domains first."""
        domains = dict.fromkeys(self._by_name[name].domain for name in winners)
        near = (name for domain in domains for name in self._by_domain[domain])
        seen = {*scores}
        for name in chain(near, self._filling):
            card = self._by_name[name]
            is_open = not card.is_probe and admitted(context.walls, name, card.domain)
            if name not in seen and is_open:
                seen.add(name)
                yield name


def fail_open(catalog: Catalog, reason: str, walls: Sequence[Wall] = ()) -> Selection:
    """Return a selection of every tool of the catalog that is inside the walls."""
    tools = [
        tool.name for tool in catalog.tools.values() if admitted(walls, tool.name, tool.domain)
    ]
    return Selection(
        tools=tuple(tools),
        k=len(tools),
        band="fail_open",
        reason=reason,
        frame=IntentFrame(),
        catalog_size=len(catalog.tools),
    )
