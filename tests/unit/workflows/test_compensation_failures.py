"""Failed attempts at a compensation, as a rollback counts them."""

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.workflows.failures import compensation_failure, failure_here


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
