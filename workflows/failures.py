"""Exceptions that end a leg, causes of Temporal's wrapped failures, and update refusals."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.budget import Usage
    from orchestrator.core.errors import OrchestratorError, PayloadLocked
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import MissingState, ModelTrouble, UsageSoFar
    from orchestrator.saga.outcome import CompensationFailure

WORK_FAILURES = (Exception, asyncio.CancelledError)
"""The exceptions that can end the work of a workflow, a cancel request included.

Not BaseException: GeneratorExit only means that a worker evicts the workflow, and nothing may be
rolled back for that.
"""
_LONGEST = 300


class LegFailed(Exception):
    """The leg cannot reach its goal; the message is the first error of the mission."""


class LegSkipped(Exception):
    """A person left the leg out: the mission continues without it. The message is a sentence."""


def first_words(error: BaseException) -> str:
    """Return the message of the root cause, or of the first ApplicationError in the chain."""
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, ApplicationError):
        cause = cause.__cause__
    if isinstance(cause, ApplicationError):
        return cause.message
    return str(cause) or type(cause).__name__


def was_locked(error: ActivityError) -> bool:
    """Return True if the last worker could not read its input: that attempt did nothing.

    The failure is final if no earlier attempt did anything either.
    """
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type == PayloadLocked.__name__


def failure_here(activity: str, failed: FailureError) -> ActivityError:
    """Return a local activity's failure as an ActivityError; raise the result from `failed`."""
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
    """Return True if the activity forbade further attempts."""
    return isinstance(error.cause, ApplicationError) and error.cause.non_retryable


def usage_of(error: ActivityError) -> Usage | None:
    """Return the model usage of a failed activity; None: no usage is known."""
    cause = error.cause
    found = UsageSoFar.found_in(cause.details) if isinstance(cause, ApplicationError) else None
    return None if found is None else found.usage_so_far


def trouble_of(error: ActivityError) -> ModelTrouble | None:
    """Return a planner's trouble if it may pass or be fixed; None if the leg ends.

    A worker that dies repeatedly, and an unexpected exception, are trouble as well: the mission is
    not rolled back for them.
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
    """Return why an attempt at a compensation settled nothing.

    An attempt that died with its worker may have reached the provider, but the contract's attempts
    are not meant for that. An attempt that no worker could make or read did not reach the provider.
    An unexpected error may have come after the cancel, so it counts as one of the attempts.
    """
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return CompensationFailure(reason=first_words(error), counts=False)
    if (missing := MissingState.found_in(cause.details)) is not None:
        sent = not missing.nothing_sent
        return CompensationFailure(reason=cause.message, counts=False, arrived=sent, stalled=True)
    if cause.type == names.PROVIDER_BUSY:
        if cause.details:
            return CompensationFailure.model_validate(cause.details[0])
        return CompensationFailure(reason=cause.message)
    if was_locked(error) or cause.non_retryable:
        return CompensationFailure(
            reason=cause.message, counts=False, arrived=False, final=cause.non_retryable
        )
    return CompensationFailure(reason=cause.message)


def refuse(error: OrchestratorError) -> ApplicationError:
    """Return the refusal of an update, for its sender; the mission continues unharmed."""
    return ApplicationError(str(error), error.details, type=error.code, non_retryable=True)
