"""An answer as it leaves: of the media type that its operation declares."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from orchestrator.sandbox.provider_call import ProviderAnswer
from orchestrator.sandbox.served_operations import ServedOperation, is_json

_BYTES = b"%sandbox made these bytes up%"
_TEXT = "The sandbox made this text up."
_MARKUP = "<made-up/>"
_BODILESS = frozenset({204, 205, 304})


def answer_response(operation: ServedOperation, answer: ProviderAnswer) -> Response:
    """The answer with the body and the type that the document declares for it."""
    replayed = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    headers = {**answer.headers, **replayed}
    kind = operation.answer_type
    if answer.status in _BODILESS or (kind is None and answer.body is None):
        return Response(status_code=answer.status, headers=headers)
    if kind is None or is_json(kind):
        sent_as = "application/json" if kind is None or "*" in kind else kind
        return JSONResponse(
            answer.body, status_code=answer.status, headers=headers, media_type=sent_as
        )
    return _other(kind, answer, headers)


def _other(kind: str, answer: ProviderAnswer, headers: Mapping[str, str]) -> Response:
    main = kind.split(";")[0].strip().lower()
    sent_as = "application/octet-stream" if "*" in main else kind
    content: str | bytes = _BYTES
    if "xml" in main or "html" in main:
        content = _MARKUP
    elif main.startswith("text/") or "json" in main or "yaml" in main:
        content = _TEXT
    response = Response(content, status_code=answer.status, headers=dict(headers))
    # As declared: Starlette would add a charset to it.
    response.headers["content-type"] = sent_as
    return response
