"""Pages of sorted lists, each continued after the last entry of the page before."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC
from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, Field

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.leg import Question
from orchestrator.messages.open_waits import urgency
from orchestrator.web.problem_details import ProblemError

T = TypeVar("T")


class PageQuery(BaseModel):
    """Which part of a list to return."""

    limit: int = Field(default=50, ge=1, le=200, description="entries in a page, at most")
    cursor: str | None = Field(
        default=None, max_length=2_000, description="`next` of the page before"
    )


def page_of(
    entries: Sequence[T], query: PageQuery, key: Callable[[T], tuple[str, str]]
) -> tuple[tuple[T, ...], str | None]:
    """Return a page of entries that are sorted by a key, and the cursor of the next one.

    An entry that is gone meanwhile leaves no gap, as pages begin after a key.
    """
    rest = entries
    if query.cursor:
        try:
            padded = query.cursor + "=" * (-len(query.cursor) % 4)
            first, second = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        except (ValueError, TypeError, RecursionError, binascii.Error):
            detail = "this is no cursor of this list: give `next` of the page before, or none"
            raise ProblemError(HTTPStatus.BAD_REQUEST, detail, code="UsageError") from None
        rest = [one for one in entries if key(one) > (str(first), str(second))]
    page = tuple(rest[: query.limit])
    if len(page) == len(rest):
        return page, None
    last = json.dumps(key(page[-1])).encode()
    return page, base64.urlsafe_b64encode(last).decode().rstrip("=")


def by_expiry(asked: ConfirmationCard | Question) -> tuple[str, str]:
    """Return the key of lists that begin with the first to expire."""
    expires, named = urgency(asked)
    return expires.astimezone(UTC).isoformat(timespec="microseconds"), named
