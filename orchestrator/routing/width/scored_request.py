"""A request as texts to score, and its candidates once they are scored, best first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.language.intent import IntentFrame, Slot
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.reading.frame import ClauseReading, joined
from orchestrator.routing.scoring.scorer import Scored, ScoreTable
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.width.confidence import signs_of

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


def texts_of(
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


def signs_in(reading: ScoredRequest, ranked: Sequence[tuple[str, float]]) -> Floats:
    """What confidence is read from; see `orchestrator.routing.width.confidence`."""
    return signs_of(
        [score for _, score in ranked],
        reading.tables,
        requests=len(reading.winners),
        words=len({word for clause in reading.clauses for word in clause.stems}),
    )


def with_unwanted(clauses: Sequence[ClauseReading]) -> list[ClauseReading]:
    """The clauses, each told what the negated ones say and no other does."""
    wanted = {word for c in clauses if not c.is_negated for word in c.stems}
    unwanted = tuple(w for c in clauses if c.is_negated for w in c.stems if w not in wanted)
    if not unwanted or not wanted:
        return list(clauses)
    return [replace(c, unwanted=unwanted) for c in clauses]


def merged(reading: ScoredRequest) -> list[tuple[str, float]]:
    """Candidates with their fused scores, best first, ties by name.

    With several clauses, what the whole says, plus the best that any clause says, so that every
    clause gets its tool near the top, plus half of the clauses' mean, so that a tool of several
    comes before one of a chance remark. Each text's scores are relative to its own best.
    """
    if reading.whole is None:
        return []
    scores = dict(zip(reading.whole.names, reading.whole.fused.tolist(), strict=True))
    if reading.parts:
        scores = _relative(reading.whole)
        best: dict[str, float] = {}
        share = MEAN_COUNTS / len(reading.parts)
        for part in reading.parts:
            for name, score in _relative(part).items():
                scores[name] = scores.get(name, 0.0) + share * score
                if score > best.get(name, 0.0):
                    best[name] = score
        for name, score in best.items():
            scores[name] += score
    order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return [(name, scores[name]) for name in order]


def _relative(table: ScoreTable) -> dict[str, float]:
    top = max(float(table.fused[0]), 1e-9) if len(table.fused) else 1.0
    return dict(zip(table.names, (table.fused / top).tolist(), strict=True))


def in_order(chosen: Sequence[str], winners: Sequence[str]) -> tuple[str, ...]:
    """The chosen tools; those that are the best of a clause first, in the order of the clauses."""
    return tuple(dict.fromkeys([*(w for w in winners if w in chosen), *chosen]))
