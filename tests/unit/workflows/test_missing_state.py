"""Failed attempts: what any worker may try then, and how a rollback counts them."""

import pytest
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    FailureError,
    TimeoutError,
    TimeoutType,
)

from orchestrator.messages.failure_details import MissingState
from orchestrator.workflows.failures import compensation_failure, failure_here
from orchestrator.workflows.running import local_then_remote, missing_state_for_call

_TIMEOUT = TimeoutError("late", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[])
_LACKING = ApplicationError("no catalog", MissingState(error_type="CatalogNotFound").model_dump())


async def _tried(cause: BaseException, *, rounds: int = 1) -> list[str]:
    """Where an attempt was made that fails so in the worker that has the task."""
    tried: list[str] = []

    async def here() -> str:
        tried.append("here")
        failed = failure_here("think", ApplicationError("failed"))
        raise failed from cause

    async def elsewhere() -> str:
        tried.append("elsewhere")
        return "an answer"

    attempt = local_then_remote(here, elsewhere)
    for _ in range(rounds):
        try:
            await attempt()
        except ActivityError:
            tried.append("raised")
    return tried


@pytest.mark.parametrize("cause", [_TIMEOUT, ApplicationError("no room in memory")])
async def test_what_fails_or_takes_too_long_is_tried_elsewhere(cause: BaseException) -> None:
    """At once: history has no room for what one worker cannot do."""
    assert await _tried(cause) == ["here", "elsewhere"]


@pytest.mark.parametrize(
    "cause", [ApplicationError("refused", non_retryable=True), CancelledError("cancelled")]
)
async def test_what_is_final_is_not_tried_again(cause: BaseException) -> None:
    """A refusal, and the end of a leg that was cancelled while it thought."""
    assert await _tried(cause) == ["here", "raised"]


async def test_what_is_lacking_is_waited_for_first() -> None:
    assert await _tried(_LACKING, rounds=2) == ["here", "raised", "elsewhere"]


SENT_NOTHING = {"error_type": "StoreUnavailable", "nothing_sent": True}


@pytest.mark.parametrize(
    ("started", "last", "lacks"),
    [
        (0, None, "NoWorker"),
        (0, ApplicationError("locked", SENT_NOTHING), "StoreUnavailable"),
        (0, ApplicationError("503", type="ProviderBusy"), None),
        (0, TimeoutError("lost", type=TimeoutType.HEARTBEAT, last_heartbeat_details=[]), None),
        (7, None, None),
    ],
    ids=["no worker", "no store", "a provider that fails", "a worker that died", "under way"],
)
def test_a_call_whose_time_is_over_is_unclear_only_if_an_attempt_was_made(
    started: int, last: FailureError | None, lacks: str | None
) -> None:
    late = TimeoutError("over", type=TimeoutType.SCHEDULE_TO_CLOSE, last_heartbeat_details=[])
    late.__cause__ = last
    error = ActivityError(
        "over",
        scheduled_event_id=5,
        started_event_id=started,
        identity="",
        activity_type="invoke_tool",
        activity_id="1",
        retry_state=None,
    )
    error.__cause__ = late
    lacking = missing_state_for_call(error)

    assert (lacking.error_type if lacking is not None else None) == lacks
    assert lacking is None or lacking.nothing_sent


@pytest.mark.parametrize(
    ("error", "counts", "arrived"),
    [
        (ApplicationError("too large", type="OverflowError"), True, True),
        (ApplicationError("not ours", type="Unowned", non_retryable=True), False, False),
        (ApplicationError("no key", type="PayloadLocked"), False, False),
    ],
    ids=["an error that nobody foresaw", "refused before the wire", "unreadable input"],
)
def test_an_error_of_ours_is_an_attempt(
    error: ApplicationError, counts: bool, arrived: bool
) -> None:
    """Unless nothing can have been sent: the cancel before it may have been carried out."""
    failed = failure_here("compensate", error)
    failed.__cause__ = error
    failure = compensation_failure(failed)

    assert (failure.counts, failure.arrived) == (counts, arrived)
