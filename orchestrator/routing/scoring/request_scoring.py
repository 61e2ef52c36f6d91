"""A request, read and scored: its candidates, best first."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, Generic, TypeVar

from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.language.intent import IntentFrame, Slot
from orchestrator.routing.clause_reading import ClauseReading, joined, read_clause
from orchestrator.routing.deadline import NO_DEADLINE, Deadline
from orchestrator.routing.indexes.terms import Floats, Positions
from orchestrator.routing.reading.request_parser import RequestParser, RequestReading
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards
from orchestrator.routing.scoring.scorer import Scored, Scorer, ScoreTable
from orchestrator.routing.selection import USED, RouteContext

MEAN_COUNTS = 0.5
"""What the mean of the clauses adds to a candidate's score, beside the best of them."""


@dataclass(frozen=True, slots=True)
class ScoredRequest:
    """A request, read and scored; a request of one clause has no parts."""

    frame: IntentFrame
    slots: tuple[Slot, ...]
    clauses: tuple[ClauseReading, ...]
    whole: ScoreTable | None
    parts: tuple[ScoreTable, ...]
    embedder: str = ""

    @property
    def strength(self) -> float:
        """The strongest evidence of the words for any tool."""
        return self.whole.strength if self.whole else 0.0

    @property
    def tables(self) -> tuple[ScoreTable, ...]:
        """One table per clause that asks for something."""
        return self.parts or ((self.whole,) if self.whole else ())

    @property
    def winners(self) -> tuple[str, ...]:
        """The best tool of each clause."""
        return tuple(dict.fromkeys(table.names[0] for table in self.tables if table.names))

    @property
    def words(self) -> int:
        """How many words say something."""
        return len({word for clause in self.clauses for word in clause.stems})


LATELY: Final = 256
"""Texts that are kept as they were read and scored: those of the missions under way."""
_Asked = tuple[str, RouteContext, datetime | None]
_Told = tuple[Hashable, ...]
_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class _Lately(Generic[_K, _V]):
    """What was asked for last; several threads may ask."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_K, _V] = OrderedDict()

    def get(self, key: _K) -> _V | None:
        """What was kept; it is the last to go."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found
        return found

    def keep(self, key: _K, value: _V) -> None:
        """Keep it; the oldest makes room."""
        self._kept[key] = value
        if len(self._kept) > LATELY:
            self._kept.popitem(last=False)


class RequestScorer:
    """Reads requests and scores the cards of one catalog for them; what it tells never changes."""

    def __init__(
        self,
        parser: RequestParser,
        scorer: Scorer,
        *,
        fits: float,
        similarity: CardSimilarity | None = None,
    ) -> None:
        """Take what reads and what scores.

        Args:
            parser: of requests over the catalog.
            scorer: of its cards.
            fits: the strength of evidence below which no tool fits a text.
            similarity: an embedder's view of the cards; when it has no answer, words decide.
        """
        self._parser = parser
        self._scorer = scorer
        self._fits = fits
        self._similarity = similarity
        self._requests: _Lately[_Asked, ScoredRequest] = _Lately()
        self._tables: _Lately[_Told, tuple[list[ScoreTable], str]] = _Lately()

    def score(
        self,
        text: str,
        context: RouteContext,
        now: datetime | None,
        deadline: Deadline = NO_DEADLINE,
    ) -> ScoredRequest:
        """The text as it is written; where nothing fits that, as it may have been meant.

        What was read lately is not read again: planning a goal asks of each clause several times.

        Raises:
            OutOfTime: at the end of the first stage that is past the deadline.
        """
        known = self._requests.get((text, context, now))
        if known is not None:
            return known
        scored = self._read(text, context, now, deadline)
        if scored.embedder in ("", USED):  # one that was away may be back the next time
            self._requests.keep((text, context, now), scored)
        return scored

    def _read(
        self, text: str, context: RouteContext, now: datetime | None, deadline: Deadline
    ) -> ScoredRequest:
        written = self._score(self._parser.parse(text, context, now), context, deadline)
        if written.strength >= self._fits or self._parser.corrected(text) == text:
            return written
        reading = self._parser.parse(text, context, now, correct=True)
        meant = self._score(reading, context, deadline)
        return meant if meant.strength > written.strength else written

    def _score(
        self, reading: RequestReading, context: RouteContext, deadline: Deadline
    ) -> ScoredRequest:
        """The feature tables of the whole and of each clause that asks for something."""
        deadline.check("reading")
        clauses = _with_unwanted(reading.clauses)
        asked = [i for i, c in enumerate(clauses) if not c.is_negated] or list(range(len(clauses)))
        wanted = tuple(clauses[i] for i in asked)
        slots = (reading.slots, *(reading.own[i] for i in asked))
        tables, embedder = self._scored(wanted, slots, context, deadline)
        whole = self._or_goal(tables, wanted, reading.slots, context)
        deadline.check("scoring")
        return ScoredRequest(
            reading.frame,
            reading.slots,
            wanted,
            whole,
            tuple(tables[1:]),
            embedder,
        )

    def _scored(
        self,
        wanted: tuple[ClauseReading, ...],
        slots: Sequence[Sequence[Slot]],
        context: RouteContext,
        deadline: Deadline,
    ) -> tuple[list[ScoreTable], str]:
        """The tables of all clauses as one text, then of each; and how the embedder did.

        Of a context, scores depend on less than readings do: the steps of a leg, and the questions
        that planning asks of a clause, mostly have the same.
        """
        told = tuple(tuple((s.kind, s.text, s.position) for s in own) for own in slots)
        held = tuple(name for name in context.known if name in self._scorer.needed)
        key = (wanted, told, context.domains, context.walls, held)
        known = self._tables.get(key)
        if known is not None:
            return known
        near, embedder = self._nearness(wanted)
        deadline.check("embedding")
        texts = _texts(wanted, slots, context, near)
        alike = partial(self._alike, [text.reading.text for text in texts])
        check = partial(deadline.check, "scoring")
        scored = self._scorer.score_all(texts, alike=alike, check=check), embedder
        if embedder in ("", USED):
            self._tables.keep(key, scored)
        return scored

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

    def _alike(self, texts: Sequence[str], rows: Positions) -> Floats | None:
        """What cards have of each text word by word, where the embedder tells."""
        if not isinstance(self._similarity, EmbeddedCards):
            return None
        return self._similarity.alike(texts, rows)

    def _or_goal(
        self,
        tables: Sequence[ScoreTable],
        clauses: Sequence[ClauseReading],
        slots: Sequence[Slot],
        context: RouteContext,
    ) -> ScoreTable | None:
        """The table of all clauses as one text; where no word tells, that of the mission's goal."""
        if not tables:
            return None
        if tables[0].strength == 0 and context.goal not in ("", joined(clauses).text):
            return self._scorer.score(read_clause(context.goal), slots, context)
        return tables[0]


def _texts(
    clauses: Sequence[ClauseReading],
    slots: Sequence[Sequence[Slot]],
    context: RouteContext,
    near: Sequence[Floats | None],
) -> list[Scored]:
    """All clauses as one text, and where there are several, each of them after it.

    `slots` and `near` are those of the whole, then those of each clause.
    """
    if not clauses:
        return []
    texts = [joined(clauses), *(clauses if len(clauses) > 1 else ())]
    return [
        Scored(text, values, _likely(text, context), nearness)
        for text, values, nearness in zip(texts, slots, near, strict=False)
    ]


def _likely(clause: ClauseReading, context: RouteContext) -> RouteContext:
    """The context with the domain that the clause is likely about as the agent's own."""
    if not clause.likely or clause.likely in context.domains:
        return context
    return context.model_copy(update={"domains": (*context.domains, clause.likely)})


def _with_unwanted(clauses: Sequence[ClauseReading]) -> list[ClauseReading]:
    """The clauses, each told what the negated ones say and no other does."""
    wanted = {word for c in clauses if not c.is_negated for word in c.stems}
    unwanted = tuple(w for c in clauses if c.is_negated for w in c.stems if w not in wanted)
    if not unwanted or not wanted:
        return list(clauses)
    return [replace(c, unwanted=unwanted) for c in clauses]


def merged(reading: ScoredRequest) -> dict[str, float]:
    """Candidates with their fused scores, best first, ties by name.

    With several clauses, what the whole says, plus the best that any clause says, so that every
    clause gets its tool near the top, plus half of the clauses' mean, so that a tool of several
    comes before one of a chance remark. Each text's scores are relative to its own best.
    """
    if reading.whole is None:
        return {}
    scores = dict(zip(reading.whole.names, reading.whole.fused.tolist(), strict=True))
    if reading.parts:
        scores = relative(reading.whole)
        best: dict[str, float] = {}
        share = MEAN_COUNTS / len(reading.parts)
        for part in reading.parts:
            for name, score in relative(part).items():
                scores[name] = scores.get(name, 0.0) + share * score
                if score > best.get(name, 0.0):
                    best[name] = score
        for name, score in best.items():
            scores[name] += score
    order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return {name: scores[name] for name in order}


def relative(table: ScoreTable) -> dict[str, float]:
    """The scores of a table, best first, 1 for the best."""
    top = max(float(table.fused[0]), 1e-9) if len(table.fused) else 1.0
    return dict(zip(table.names, (table.fused / top).tolist(), strict=True))


def in_order(chosen: Sequence[str], winners: Sequence[str]) -> tuple[str, ...]:
    """The chosen tools; those that are the best of a clause first, in the order of the clauses."""
    return tuple(dict.fromkeys([*(w for w in winners if w in chosen), *chosen]))
