"""The router: from a request to the few tools its planner should see."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.intent import IntentFrame
from orchestrator.language.slots import read_slots, warm_up
from orchestrator.language.words import name_stems
from orchestrator.routing.cards.capability_card import make_cards
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.deadline import PROXY_LIMIT_S, Deadline, OutOfTime
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.needs import certainty, needs_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.reading.request_parser import RequestParser
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.scoring.fitness import fitness, fitness_signs
from orchestrator.routing.scoring.request_scoring import (
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
        self._clock = clock
        self._timeout_s = timeout_s
        self._catalog = catalog
        self._profile = profile or RoutingProfile()
        tools = tuple(catalog.tools.values())
        self._cards = make_cards(tools) if cards is None else cards.of(tools)
        self._by_name = {card.name: card for card in self._cards}
        self._by_domain: dict[str, list[str]] = defaultdict(list)
        for card in self._cards:
            self._by_domain[card.domain].append(card.name)
        self._vocabulary = CatalogVocabulary(self._cards)
        self._scorer = Scorer(self._cards, self._profile)
        self._parser = RequestParser(
            self._cards, self._vocabulary, self._scorer.evidence, self._profile
        )
        self._requests = RequestScorer(
            self._parser, self._scorer, fits=self._profile.fits, similarity=similarity
        )
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
            limit_s: how long this caller waits, in seconds of the clock on the wall, since that is
                what it waits by: `PROXY_LIMIT_S`, `STEP_LIMIT_S`. None: the router's own limit.

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

    def explain(
        self, text: str, context: RouteContext | None = None, *, now: datetime | None = None
    ) -> Explanation:
        """The selection together with the features that led to it."""
        return self._attempt(text, context or RouteContext(), now)

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
        weight = self._scorer.evidence.find(reading.stems, slots).weight.tolist()
        weights = {name: own for name, own in zip(self._by_name, weight, strict=True) if own}
        tools = table.names if among is None else among
        return fitness_signs(
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
        stems = self._parser.clause(text, slots, correct=True).stems
        said = [word for word in stems if word not in names or self._scorer.evidence.knows(word)]
        strength = self._scorer.evidence.find(said, slots).strength
        return strength >= self._profile.fits and self._parser.knows_order(text)

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
        if limit_s is None:
            return Deadline(self._clock, self._timeout_s)
        return Deadline(self._clock or time.monotonic, limit_s)

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
        )

    def _bounds(self, reading: ScoredRequest) -> Bounds:
        """How sure the least sure request can be; see `Bounds`."""
        stems = [clause.stems for clause in reading.clauses]
        found = [self._bounds_of(*one) for one in zip(reading.tables, stems, strict=False)]
        return min(found, key=lambda bounds: (bounds.most, bounds.least), default=NOTHING)

    def _bounds_of(self, table: ScoreTable, stems: Collection[str]) -> Bounds:
        best = [self._by_name[name] for name in table.names[:1]]
        if any({*stems} == {*example} for card in best for example in card.example_stems):
            return STATED
        # Words that the catalog knows and that tool has not are about something else as well.
        if best and table.features["coverage"][0] == 1:
            named = [name for name in table.names if self._by_name[name].is_named_by(stems)]
            if named == [best[0].name]:
                return STATED
        if table.strength >= self._profile.fits:
            return Bounds()
        return IN_PART if any(word in stems for c in best for word in c.name_stems) else NOTHING

    def _unasked(
        self, scores: Collection[str], winners: Iterable[str], context: RouteContext
    ) -> Iterator[str]:
        """Tools that no word speaks for: those of the best tools' domains, then all others."""
        domains = dict.fromkeys(self._by_name[name].domain for name in winners)
        near = (name for domain in domains for name in self._by_domain[domain])
        told = {*scores}
        for name in chain(near, self._by_name):
            card = self._by_name[name]
            if (
                name not in told
                and not card.is_probe
                and admitted(context.walls, name, card.domain)
            ):
                told.add(name)
                yield name


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
