"""What ends a leg, what went wrong in the failures that Temporal wraps, and refusals of updates."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.core.errors import OrchestratorError
    from orchestrator.core.payload_errors import PayloadLocked, PayloadLost
    from orchestrator.messages import names
    from orchestrator.messages.lacking import LackingState
    from orchestrator.messages.model_trouble import ModelTrouble
    from orchestrator.messages.usage_so_far import UsageSoFar
    from orchestrator.saga.outcome import CompensationFailure

LOST = (Exception, asyncio.CancelledError)
"""All that can end the work of a workflow, a cancel request included. Not BaseException, for
GeneratorExit only says that a worker evicts the workflow: nothing may be rolled back for that."""
_LONGEST = 300
_UNREAD = (PayloadLocked.__name__, PayloadLost.__name__)


class LegLost(Exception):
    """The leg cannot reach its goal; its text is the first error of the mission."""


class LegSkipped(Exception):
    """A person left the leg out: the mission goes on without it. Its text is a sentence."""


def first_words(error: BaseException) -> str:
    """What went wrong, in the words of the error that began it."""
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, ApplicationError):
        cause = cause.__cause__
    if isinstance(cause, ApplicationError):
        return cause.message
    return str(cause) or type(cause).__name__


def was_locked(error: ActivityError) -> bool:
    """Whether the last worker that took it could not read its input: that attempt did nothing.

    Where no attempt before did anything either, the failure is final.
    """
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type in _UNREAD


def failure_here(activity: str, failed: FailureError) -> ActivityError:
    """The failure of a local activity, as any other activity's is told; raise it from `failed`."""
    return ActivityError(
        failed.message,
        scheduled_event_id=0,
        started_event_id=0,
        identity="",
        activity_type=activity,
        activity_id="",
        retry_state=None,
    )


def is_final(error: ActivityError) -> bool:
    """Whether the activity said that no attempt after this one was to be made."""
    return isinstance(error.cause, ApplicationError) and error.cause.non_retryable


def usage_of(error: ActivityError) -> Usage | None:
    """What models took in an activity that failed; None: as far as is known, nothing."""
    cause = error.cause
    return UsageSoFar.found_in(cause.details) if isinstance(cause, ApplicationError) else None


def trouble_of(error: ActivityError) -> ModelTrouble | None:
    """What kept a planner from deciding, if it may pass or be mended; None where the leg ends.

    A worker that dies over and over, and an exception that nobody foresaw, are trouble as well:
    what the mission has done is not undone for them.
    """
    cause = error.cause
    if isinstance(cause, TimeoutError):
        return ModelTrouble(reason=f"the planner did not answer in time ({cause.message})")
    if not isinstance(cause, ApplicationError):
        return None
    if cause.type == names.MODEL_TROUBLE:
        return ModelTrouble.model_validate(cause.details[0])
    if cause.non_retryable:
        return None
    return ModelTrouble(reason=f"the planner failed: {cause.message[:_LONGEST]}")


def compensation_failure(error: ActivityError) -> CompensationFailure:
    """What an attempt at a compensation came to.

    One that died with its worker may have reached the provider, but the contract's attempts are not
    for that. One that no worker could make did not reach it.
    """
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return CompensationFailure(reason=first_words(error), counts=False)
    if (lacking := LackingState.found_in(cause.details)) is not None:
        sent = not lacking.nothing_sent
        return CompensationFailure(reason=cause.message, counts=False, arrived=sent, held_up=True)
    if cause.type == names.PROVIDER_BUSY:
        if cause.details:
            return CompensationFailure.model_validate(cause.details[0])
        return CompensationFailure(reason=cause.message)
    return CompensationFailure(
        reason=cause.message, counts=False, arrived=False, final=cause.non_retryable
    )


def refuse(error: OrchestratorError) -> ApplicationError:
    """A refusal that whoever sent the update gets to read; the mission goes on unharmed."""
    return ApplicationError(
        str(error), error.details, type=type(error).__name__, non_retryable=True
    )
