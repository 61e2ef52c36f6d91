"""The router: from a request to the few tools its planner should see."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.read_once import read_once
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.intent import IntentFrame
from orchestrator.language.values import warm_up
from orchestrator.routing.cards.capability_card import make_cards
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.clause_reading import joined
from orchestrator.routing.deadline import PROXY_LIMIT_S, Deadline, OutOfTime
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.needs import certainty, needs_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.reading.request_parser import RequestParser
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards
from orchestrator.routing.scoring.fitness import FITTED_TO, SIGNS, Fitness, FittedRequest
from orchestrator.routing.scoring.request_scoring import (
    LATELY,
    RequestScorer,
    ScoredRequest,
    in_order,
    merged,
)
from orchestrator.routing.scoring.scorer import Scorer, ScoreTable
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.routing.width import (
    IN_PART,
    NOTHING,
    STATED,
    Bounds,
    adaptive_k,
    bounded,
    of_nothing,
)

_SCORES_KEPT = 20
_FED = 3


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a selection came out as it did: the request, scored; None where routing failed."""

    selection: Selection
    request: ScoredRequest | None = None

    @property
    def tables(self) -> tuple[tuple[str, ScoreTable], ...]:
        """The clauses that ask for something, each with its feature table."""
        if self.request is None:
            return ()
        texts = [clause.text for clause in self.request.clauses]
        return tuple(zip(texts, self.request.tables, strict=False))


class _Fitted(NamedTuple):
    """How well the best tool fits a request, and whether it does: no order means nothing here."""

    fitness: float
    fits: bool


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
            clock: seconds from any origin, e.g. time.monotonic; None: routing takes what it takes,
                unless a caller brings a limit.
            timeout_s: how long one routing may take before every tool is forwarded, for callers
                that bring no limit of their own.
            similarity: an embedder's view of the catalog's cards, one more feature; when it has no
                answer, the others decide.
            cards: those made for earlier routers, to be used again; None: all are made.
        """
        self.similarity: Final = similarity
        """The embedder's view of the cards that it was given."""
        self._clock = clock
        self._timeout_s = timeout_s
        self._catalog = catalog
        self._profile = profile or RoutingProfile()
        tools = tuple(catalog.tools.values())
        self._cards = make_cards(tools) if cards is None else cards.of(tools)
        self._by_name = {card.name: card for card in self._cards}
        self._by_domain: dict[str, list[str]] = defaultdict(list)
        # What only reads first: nobody asked for it.
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
        self._requests = RequestScorer(
            self._parser, self._scorer, fits=self._profile.fits, similarity=similarity
        )
        self._fitness = Fitness(
            self._cards, has_vectors=_embedder_of(similarity).startswith(FITTED_TO)
        )
        self._fitted = read_once(self._read_fitness, most=LATELY)
        self._producers = Producers(self._cards)
        warm_up()

    def route(
        self,
        text: str,
        context: RouteContext | None = None,
        *,
        now: datetime | None = None,
        limit_s: float | None = None,
    ) -> Selection:
        """The tools for a request, best first, prerequisites last.

        Args:
            text: the request.
            context: what the step knows beside it.
            now: the requester's time; None leaves relative dates unread.
            limit_s: how long this caller waits, in seconds of the router's clock: `PROXY_LIMIT_S`,
                `STEP_LIMIT_S`. None: the router's own limit. Without a clock there is none.

        Returns:
            A selection; never raises: any error inside, and more time than it may take, forwards
            every tool (band fail_open). The reason names the error's type or the stage that took
            too long, with nothing of the request in it. No tool outside the context's walls is ever
            in it.
        """
        return self._attempt(text, context or RouteContext(), now, limit_s).selection

    def without_deadline(self) -> "Router":
        """The same router, which has no limit of its own: it forwards every tool on errors only."""
        router = copy(self)
        router._clock = None
        return router

    def read(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> ScoredRequest | None:
        """A request as it is read and scored, nothing selected; None where that fails."""
        try:
            return self._requests.score(text, context or RouteContext(), now, self._deadline(None))
        except Exception:  # who asks goes by the words alone
            return None

    def explain(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Explanation:
        """The selection together with the features that led to it."""
        return self._attempt(text, context or RouteContext(), now)

    def best_score(self, text: str, *, among: Collection[str] | None = None) -> float:
        """How well the tool that fits a text best fits it, 0 to 1; see `Fitness.best`.

        Comparable between texts and between catalogs, unlike the scores of a selection.

        Args:
            text: the request.
            among: the tools to consider; all when None.
        """
        return self._fitted(self._requests.score(text, _only(among), None)).fitness

    def fitness_signs(self, text: str, *, among: Collection[str] | None = None) -> Floats:
        """What `best_score` is read from; shape (n_tools, len(SIGNS))."""
        asked = self._asked(self._requests.score(text, _only(among), None))
        return self._fitness.signs(asked) if asked else np.zeros((0, len(SIGNS)))

    def fits(self, text: str) -> bool:
        """Whether any tool of the catalog can do what the text asks."""
        return self._fitted(self._requests.score(text, RouteContext(), None)).fits

    def _read_fitness(self, reading: ScoredRequest) -> _Fitted:
        asked = self._asked(reading)
        if asked is None:
            return _Fitted(0.0, fits=False)
        fitness = self._fitness.best(asked)
        is_fit = asked.is_known_order and fitness >= self._profile.least_fitness
        return _Fitted(fitness, fits=is_fit)

    def _asked(self, reading: ScoredRequest) -> FittedRequest | None:
        """The request as one text, for whether a tool fits it; None for one that says nothing."""
        if reading.whole is None:
            return None
        whole = joined(reading.clauses)
        known = any(self._parser.knows_order(clause.text) for clause in reading.clauses)
        return FittedRequest(whole, reading.slots, reading.whole, known)

    def feeders(self, name: str) -> tuple[str, ...]:
        """The tools whose answers supply what one needs and no person types, the nearest first."""
        return self._producers.prerequisites([name])

    def rank(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> list[str]:
        """The candidates, best first, each of the first ones followed by what feeds it.

        This is the order in which a fixed number of tools would be forwarded. What no word speaks
        for comes last.
        """
        context = context or RouteContext()
        reading = self._requests.score(text, context, now)
        scores = merged(reading)
        order: dict[str, None] = {}
        for position, name in enumerate(scores):
            order.setdefault(name)
            if position < _FED:
                fed = self._producers.prerequisites(
                    [name],
                    known=context.known,
                    slots=reading.slots,
                    scores=scores,
                    walls=context.walls,
                )
                order |= dict.fromkeys(fed)
        return [*order, *self._unasked(order, reading.winners, context)]

    def _attempt(
        self, text: str, context: RouteContext, now: datetime | None, limit_s: float | None = None
    ) -> Explanation:
        """Read, score, select; on any error, or out of time, the whole catalog."""
        try:
            deadline = self._deadline(limit_s)
            reading = self._requests.score(text, context, now, deadline)
            selection = self.selection_of(reading, context)
            deadline.check("selecting")
            return Explanation(selection, reading)
        except OutOfTime as late:
            return Explanation(fail_open(self._catalog, str(late), context.walls))
        except Exception as error:  # the request must go on, whatever is wrong in here
            reason = f"{type(error).__name__} in the router"
            return Explanation(fail_open(self._catalog, reason, context.walls))

    def _deadline(self, limit_s: float | None) -> Deadline:
        return Deadline(self._clock, self._timeout_s if limit_s is None else limit_s)

    def selection_of(
        self, request: ScoredRequest, context: RouteContext, *, gain: float | None = None
    ) -> Selection:
        """The tools for a request that is scored already.

        Args:
            request: as `explain` has it.
            context: what the step knows beside it.
            gain: what a tool must be worth; the profile's when None.
        """
        profile = self._profile
        if gain is not None:
            profile = profile.model_copy(update={"gain": gain})
        scores, winners = merged(request), request.winners
        cards = [self._by_name[name] for name in winners]
        needs = needs_of(request, scores)
        chances = bounded(needs.covered(), certainty(request), self._bounds(request))
        frame = request.frame.model_copy(update={"confidence": chances[0]})
        width = adaptive_k(
            chances,
            clauses=len(winners),
            is_retry=frame.previous_tool_error,
            is_side_effect=frame.side_effect_allowed or any(card.is_change for card in cards),
            profile=profile,
        )
        fitness, fits = self._fitted(request)
        if not fits:
            width = of_nothing(width, empty=context.allow_empty)
        chosen = in_order(needs.names[: width.k], winners)
        padding = tuple(islice(self._unasked(scores, winners, context), width.k - len(chosen)))
        prerequisites = self._producers.prerequisites(
            chosen,
            known=context.known,
            slots=request.slots,
            scores=scores,
            walls=context.walls,
        )
        return Selection(
            tools=tuple(dict.fromkeys((*chosen, *padding, *prerequisites))),
            k=width.k,
            band=width.band,
            reason=width.reason,
            frame=frame,
            scores={name: scores[name] for name in [*scores][:_SCORES_KEPT]},
            chances=chances,
            prerequisites=prerequisites,
            padding=tuple(name for name in padding if name not in prerequisites),
            catalog_size=len(self._cards),
            embedder=request.embedder,
            fits=fits,
            fitness=fitness,
        )

    def _bounds(self, reading: ScoredRequest) -> Bounds:
        """How sure the least sure request can be; see `Bounds`."""
        stems = [frozenset(clause.stems) for clause in reading.clauses]
        found = [self._bounds_of(*one) for one in zip(reading.tables, stems, strict=False)]
        return min(found, key=lambda bounds: (bounds.most, bounds.least), default=NOTHING)

    def _bounds_of(self, table: ScoreTable, stems: frozenset[str]) -> Bounds:
        cards = [self._by_name[name] for name in table.names]
        # Words that the catalog knows and that tool has not are about something else as well.
        if cards and table.features["coverage"][0] == 1:
            named = self._by_example.get(stems, ())
            said = [card for card in cards if card.name in named]
            said = said or [card for card in cards if card.is_named_by(stems)]
            if said == cards[:1]:
                return STATED
        if table.strength >= self._profile.fits:
            return Bounds()
        return (
            IN_PART if any(word in stems for c in cards[:1] for word in c.name_stems) else NOTHING
        )

    def _unasked(
        self, scores: Collection[str], winners: Iterable[str], context: RouteContext
    ) -> Iterator[str]:
        """Tools that no word speaks for: those of the best tools' domains, then all others."""
        domains = dict.fromkeys(self._by_name[name].domain for name in winners)
        near = (name for domain in domains for name in self._by_domain[domain])
        told = {*scores}
        for name in chain(near, self._filling):
            card = self._by_name[name]
            if (
                name not in told
                and not card.is_probe
                and admitted(context.walls, name, card.domain)
            ):
                told.add(name)
                yield name


def _only(names: Collection[str] | None) -> RouteContext:
    """A context in which only these tools are there."""
    if names is None:
        return RouteContext()
    return RouteContext(walls=(Wall(agent="", tools=tuple(sorted(names)) or ("",)),))


def _embedder_of(similarity: CardSimilarity | None) -> str:
    return similarity.embedder if isinstance(similarity, EmbeddedCards) else ""


def fail_open(catalog: Catalog, reason: str, walls: Sequence[Wall] = ()) -> Selection:
    """Every tool of the catalog that is inside the walls, and why."""
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
