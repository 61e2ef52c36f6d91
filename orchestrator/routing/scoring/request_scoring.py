"""Parsed and scored requests, with their candidates, best first."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.core.read_once import Recent
from orchestrator.language.intent import IntentFrame, Slot
from orchestrator.routing.clause_reading import ClauseReading, joined
from orchestrator.routing.profile import NO_DEADLINE, Deadline
from orchestrator.routing.request_parser import RequestParser, RequestReading
from orchestrator.routing.scoring.embedding import CardSimilarity, EmbeddedCards
from orchestrator.routing.scoring.scorer import Scored, Scorer, ScoreTable
from orchestrator.routing.selection import USED, RouteContext
from orchestrator.routing.sparse_index import Floats, Positions

MEAN_COUNTS = 0.5
"""Weight of the clauses' mean in a candidate's score, in addition to the best clause."""
RECENT: Final = 256
"""Size of the cache of parsed and scored texts, for the running missions."""


@dataclass(frozen=True, slots=True)
class ScoredRequest:
    """A scored request; a request with one clause has no parts."""

    slots: tuple[Slot, ...]
    clauses: tuple[ClauseReading, ...]
    whole: ScoreTable | None
    parts: tuple[ScoreTable, ...]
    embedder: str = ""

    @property
    def tables(self) -> tuple[ScoreTable, ...]:
        """The table of each clause that requests something."""
        return self.parts or ((self.whole,) if self.whole else ())

    @property
    def winners(self) -> tuple[str, ...]:
        """The best tool of each clause."""
        return tuple(dict.fromkeys(table.names[0] for table in self.tables if table.names))

    @property
    def words(self) -> int:
        """The number of different content words."""
        return len({word for clause in self.clauses for word in clause.stems})


class RequestScorer:
    """Parses requests and scores a catalog's cards; equal requests get equal scores."""

    def __init__(
        self,
        parser: RequestParser,
        scorer: Scorer,
        similarity: CardSimilarity | None = None,
    ) -> None:
        """Take a parser and a scorer over the same catalog.

        Args:
            parser: parses requests.
            scorer: scores cards.
            similarity: an embedder's view of the cards; without its answer, the words decide.
        """
        self._parser = parser
        self._scorer = scorer
        self._similarity = similarity
        self._requests: Recent[Hashable, tuple[IntentFrame, ScoredRequest]] = Recent(RECENT)
        self._scores: Recent[Hashable, ScoredRequest] = Recent(RECENT)

    def score(
        self,
        text: str,
        context: RouteContext,
        now: datetime | None,
        deadline: Deadline = NO_DEADLINE,
    ) -> tuple[IntentFrame, ScoredRequest]:
        """Return the frame of a request, and its scores.

        Recent results are cached, as planning a goal looks up each clause several times. Relative
        days are all that depends on `now`.

        Raises:
            OutOfTime: at the end of the first stage that is past the deadline.
        """
        day = now and datetime(now.year, now.month, now.day)
        known = self._requests.get((text, context, day))
        if known is not None:
            return known
        reading = self._parser.parse(text, context, day)
        deadline.check("reading")
        scored = self._score(reading, context, deadline)
        if scored.embedder in ("", USED):  # an unavailable embedder may be back next time
            self._requests.put((text, context, day), (reading.frame, scored))
        return reading.frame, scored

    def _score(
        self, reading: RequestReading, context: RouteContext, deadline: Deadline
    ) -> ScoredRequest:
        """Score all clauses merged, and each clause.

        Scores depend on less of the context than readings do: the steps of a leg, and the planner's
        queries about a clause, mostly share them.
        """
        clauses = [*reading.clauses]
        wanted = {word for c in clauses if not c.is_negated for word in c.stems}
        negated = (word for c in clauses if c.is_negated for word in c.stems)
        unwanted = tuple(word for word in negated if word not in wanted)
        if unwanted and wanted:
            clauses = [replace(c, unwanted=unwanted) for c in clauses]
        places = [i for i, c in enumerate(clauses) if not c.is_negated] or list(range(len(clauses)))
        asked = tuple(clauses[i] for i in places)
        slots = (reading.slots, *(reading.own[i] for i in places))
        values = tuple(tuple((s.kind, s.text, s.position) for s in own) for own in slots)
        known = tuple(name for name in context.known if name in self._scorer.needed)
        key = (asked, values, context.domains, context.walls, known)
        if (found := self._scores.get(key)) is not None:
            return found
        # Of the whole of the request, then of each clause if there are several.
        texts = [joined(asked), *(asked if len(asked) > 1 else ())] if asked else []
        near: Sequence[Floats | None] = [None] * len(texts)
        embedder = ""
        if self._similarity is not None and asked:
            said = [". ".join(c.text for c in asked), *(text.text for text in texts[1:])]
            try:
                near, embedder = [*self._similarity.of(said)], USED
            except EmbedderUnavailable as error:
                embedder = error.reason
            except Exception as error:  # the other features decide, whatever an embedder raises
                embedder = f"{type(error).__name__} in the embedder"
        deadline.check("embedding")

        def alike(rows: Positions) -> Floats | None:
            if not isinstance(self._similarity, EmbeddedCards):
                return None
            return self._similarity.alike([text.text for text in texts], rows)

        tables = self._scorer.score_all(
            [Scored(t, own, context, n) for t, own, n in zip(texts, slots, near, strict=False)],
            alike=alike,
            check=partial(deadline.check, "scoring"),
        )
        deadline.check("scoring")
        whole, parts = tables[0] if tables else None, tuple(tables[1:])
        scored = ScoredRequest(reading.slots, asked, whole, parts, embedder)
        return self._scores.put(key, scored) if embedder in ("", USED) else scored


def merged(reading: ScoredRequest) -> dict[str, float]:
    """Return candidates with their fused scores, best first, ties by name.

    With several clauses: the score of the whole, plus the best of any clause, so that every clause
    gets its tool near the top, plus half of the clauses' mean, so that a tool of several clauses
    precedes a tool of one incidental remark. Each text's scores are relative to the best of that
    text.
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
    """Return the scores of a table relative to the best, best first."""
    top = max(float(table.fused[0]), 1e-9) if len(table.fused) else 1.0
    return dict(zip(table.names, (table.fused / top).tolist(), strict=True))


def in_order(chosen: Sequence[str], winners: Sequence[str]) -> tuple[str, ...]:
    """Return the chosen tools, led by the best of each clause in the order of the clauses."""
    return tuple(dict.fromkeys([*(w for w in winners if w in chosen), *chosen]))
