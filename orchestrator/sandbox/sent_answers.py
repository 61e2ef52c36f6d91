"""An answer as it leaves: of the media type that its operation declares."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from orchestrator.sandbox.provider_call import ProviderAnswer
from orchestrator.sandbox.served_operations import ServedOperation, is_json

_BEGINNINGS = {
    "application/pdf": b"%PDF-1.7\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "application/zip": b"PK\x03\x04",
}
"""By which files of a type are known."""
_TEXT = "The sandbox made this text up."
_MARKUP = "<made-up/>"
_BODILESS = frozenset({204, 205, 304})


def answer_response(
    operation: ServedOperation, answer: ProviderAnswer, *, asked: str = ""
) -> Response:
    """The answer with the body and the type that the document declares for it.

    Another file is made up for each address that is `asked` for.
    """
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
    return _other(operation, kind, answer, headers, asked)


def _other(
    operation: ServedOperation,
    kind: str,
    answer: ProviderAnswer,
    headers: Mapping[str, str],
    asked: str,
) -> Response:
    main = kind.split(";")[0].strip().lower()
    sent_as = "application/octet-stream" if "*" in main else kind
    named: Mapping[str, str] = {}
    content: str | bytes
    if "xml" in main or "html" in main:
        content = _MARKUP
    elif main.startswith("text/") or "json" in main or "yaml" in main:
        content = _TEXT
    else:
        content = _file_content(sent_as, asked)
        ending = mimetypes.guess_extension(sent_as) or ".bin"
        name = f"{operation.operation_id}{ending}"
        named = {"content-disposition": f'attachment; filename="{name}"'}
    response = Response(content, status_code=answer.status, headers={**named, **headers})
    # As declared: Starlette would add a charset to it.
    response.headers["content-type"] = sent_as
    return response


def _file_content(media_type: str, asked: str) -> bytes:
    """Bytes that are no text, the same ones for the same thing."""
    told = f"The sandbox made this up for {asked}\n".encode()
    return _BEGINNINGS.get(media_type, b"") + b"\x00\xff\n" + told
