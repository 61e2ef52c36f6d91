"""Trouble of a planner's model on its way to a leg: retried by Temporal, or waited for in sight."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from temporalio.exceptions import ApplicationError

from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, ModelUnavailable, OrchestratorError
from orchestrator.messages import names
from orchestrator.messages.model_trouble import ModelTrouble
from orchestrator.messages.step import PlanStepOutput
from orchestrator.planning.models import GiveUp
from orchestrator.planning.trimming import cut_text

LONGEST_QUIET_WAIT: Final = timedelta(seconds=30)
"""As long as this is Temporal's own retry waited for; what takes longer is to be seen."""
_LONGEST_REASON: Final = 400
_YEAR_S: Final = 365 * 86_400


@contextmanager
def translated_troubles() -> Iterator[None]:
    """Raise trouble of a model as an ApplicationError with all that a leg has to know of it.

    What may pass at once is tried again, no sooner than its provider asks.
    """
    try:
        yield
    except (ModelUnavailable, ModelRefused) as error:
        wait = _asked_wait(error.retry_after_s)
        is_short = wait is None or wait <= LONGEST_QUIET_WAIT
        raise ApplicationError(
            str(error),
            ModelTrouble(
                model=error.model, reason=error.reason, remedy=error.remedy, retry_after=wait
            ),
            type=names.MODEL_TROUBLE,
            non_retryable=not (error.retryable and is_short),
            next_retry_delay=wait if is_short and wait else None,
        ) from error


def _asked_wait(seconds: float | None) -> timedelta | None:
    """How long a provider asks to wait; more than a year counts as one."""
    if seconds is None or not seconds >= 0:
        return None
    return timedelta(seconds=min(seconds, _YEAR_S))


def spent_on(error: OrchestratorError, usage: Usage | None) -> PlanStepOutput:
    """A step that decided nothing, for no answer could be carried out.

    A workflow of an earlier release reads it as the end of its leg, as it read the error.
    """
    reason = cut_text(str(error), _LONGEST_REASON) or "no reason is given"
    return PlanStepOutput(decision=GiveUp(reason=reason), unusable=reason, usage=usage)
