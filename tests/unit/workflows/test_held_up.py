"""What may be tried by any worker once the one that has the task could not."""

import pytest
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    TimeoutError,
    TimeoutType,
)

from orchestrator.messages.lacking import LackingState
from workflows.failures import failure_here
from workflows.held_up import here_first

_TIMEOUT = TimeoutError("late", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[])
_LACKING = ApplicationError("no catalog", LackingState(lacks="CatalogNotFound").model_dump())


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

    attempt = here_first(here, elsewhere)
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
    """Then any worker may have it."""
    assert await _tried(_LACKING, rounds=2) == ["here", "raised", "elsewhere"]
