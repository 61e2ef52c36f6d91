"""Errors of the sandbox: unservable documents, and refusals as RFC 9457 problem documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
_TITLES = {status.value: status.phrase for status in HTTPStatus}


class DocumentError(ValueError):
    """A document that cannot be served; the message names it and the cause."""


class UnservedOperation(NamedTuple):
    """An operation that cannot be served: the place of the defect, the reason and a remedy."""

    document: str
    pointer: str
    operation: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.document}: {self.operation} is not served: {self.pointer}: {self.reason}; "
            f"{self.remedy}"
        )


class Unservable(Exception):
    """A part of a document that cannot be served; `steps` lead to it."""

    def __init__(self, steps: tuple[str, ...], reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.steps = steps
        self.reason = reason
        self.remedy = remedy


class Violation(NamedTuple):
    """An invalid field of a request, and the reason."""

    field: str
    reason: str


class RequestRefused(Exception):
    """A refused request, which had no effect."""

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
        """Return the problem document; `errors` lists the invalid fields, if any."""
        document = {
            "type": "about:blank",
            "title": _TITLES.get(self.status, f"Status {self.status}"),
            "status": self.status,
            "detail": self.detail,
        }
        errors = [violation._asdict() for violation in self.violations]
        return {**document, "errors": errors} if errors else document

    def to_response(self) -> JSONResponse:
        """Return the response with the problem document."""
        return JSONResponse(
            self.to_json(), status_code=self.status, headers=self.headers, media_type=MEDIA_TYPE
        )
