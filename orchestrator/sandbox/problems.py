"""Refusals, as application/problem+json (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
_TITLES = {status.value: status.phrase for status in HTTPStatus}


class Violation(NamedTuple):
    """One field of a request that is wrong, and why."""

    field: str
    reason: str


class RequestRefused(Exception):
    """A request that is refused; nothing was done."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        violations: Sequence[Violation] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.violations = tuple(violations)
        self.headers = dict(headers or {})

    def to_json(self) -> dict[str, Any]:
        """The problem document; `errors` lists the fields at fault, when there are any."""
        document = {
            "type": "about:blank",
            "title": _TITLES.get(self.status, f"Status {self.status}"),
            "status": self.status,
            "detail": self.detail,
        }
        errors = [violation._asdict() for violation in self.violations]
        return {**document, "errors": errors} if errors else document

    def to_response(self) -> JSONResponse:
        """The answer that the caller gets."""
        return JSONResponse(
            self.to_json(), status_code=self.status, headers=self.headers, media_type=MEDIA_TYPE
        )
