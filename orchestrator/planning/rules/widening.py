"""Filters that a search was made without, since it had found nothing with them: they are told."""

from collections.abc import Sequence

from orchestrator.core.record import JsonObject
from orchestrator.language.words import name_words
from orchestrator.planning.models import Finish, Observation, StepContext, StepDecision
from orchestrator.saga.judged import is_empty


def left_out_of(asked: JsonObject, earlier: JsonObject) -> JsonObject:
    """The filters of an earlier search that a wider one of the same was made without."""
    if any(name not in earlier or earlier[name] != value for name, value in asked.items()):
        return {}
    return {name: value for name, value in earlier.items() if name not in asked}


def filters_told(left: JsonObject) -> str:
    """Filters as a person reads them: "cuisine vegetarian"."""
    return " and ".join(f"{' '.join(name_words(name))} {value}" for name, value in left.items())


def telling_what_was_left_out(decision: StepDecision, context: StepContext) -> StepDecision:
    """The decision; an answer says first what nothing was found with."""
    if not isinstance(decision, Finish) or any(o.side_effect for o in context.observations):
        return decision
    left = _left_out_before(context.observations)
    if not left:
        return decision
    answer = decision.summary[:1].lower() + decision.summary[1:]
    told = f"Nothing was found with {filters_told(left)}; without that: {answer}"
    return decision.model_copy(update={"summary": told})


def _left_out_before(seen: Sequence[Observation]) -> JsonObject:
    """What the last search that found something was made without, since it came to nothing with."""
    last = next((o for o in reversed(seen) if o.outcome == "succeeded"), None)
    if last is None or is_empty(last.body):
        return {}
    vain = [o for o in seen if o.tool == last.tool and (o.error or is_empty(o.body))]
    return next((left for o in vain if (left := left_out_of(last.arguments, o.arguments))), {})
