"""How much the results of all legs of a mission may be together: they travel in one message."""

from collections.abc import Iterable
from typing import Final

from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.step import StepRecord
from orchestrator.saga.ledger import Ledger

LARGEST_LEGS: Final = 1_000_000
"""Characters; the server takes twice that in one message, and the result has a ledger beside."""
LARGEST_RESULT: Final = 1_700_000


def within_size(legs: Iterable[LegResult]) -> tuple[LegResult, ...]:
    """The legs; where they are too large together, without records of steps and handed-on facts.

    Both are counted. What stands at providers is never left out.
    """
    told = tuple(legs)
    if sum(len(leg.model_dump_json()) for leg in told) <= LARGEST_LEGS:
        return told
    return tuple(
        leg.model_copy(
            update={
                "steps": (),
                "steps_before": leg.steps_before + len(leg.steps),
                "called": with_called(leg.called, leg.steps),
                "facts": (),
                "facts_before": leg.facts_before + len(leg.facts),
            }
        )
        for leg in told
    )


def with_called(known: tuple[str, ...], steps: Iterable[StepRecord]) -> tuple[str, ...]:
    """The tools that were called with success, each once."""
    called = (step.called for step in steps if step.outcome == "succeeded")
    return tuple(dict.fromkeys([*known, *filter(None, called)]))


def as_sent(result: MissionResult) -> MissionResult:
    """The result of a mission that is over; a large one has its ledger once, and not by leg too."""
    if len(result.model_dump_json()) <= LARGEST_RESULT:
        return result
    legs = (leg.model_copy(update={"ledger": Ledger()}) for leg in result.legs)
    return result.model_copy(update={"legs": tuple(legs)})
