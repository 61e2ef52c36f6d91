"""Refusals in the form that a document declares for them, where it declares one."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Any

from starlette.responses import JSONResponse, Response

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import MEDIA_TYPE, RequestRefused
from orchestrator.sandbox.served_operations import ServedOperation
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema


def refusal_response(
    document: Document, operation: ServedOperation, problem: RequestRefused, *, now: datetime
) -> Response:
    """What the caller gets: by the document, or a problem document where it says nothing of it."""
    declared = operation.raw.get("responses", {}).get(str(problem.status))
    if declared is None:
        return problem.to_response()
    content = document.book.follow(declared).get("content") or {}
    if not content:
        return Response(status_code=problem.status, headers=problem.headers)
    media_type = MEDIA_TYPE if MEDIA_TYPE in content else _json_type(content)
    if media_type is None:
        return problem.to_response()
    body = _fitting(document, content[media_type].get("schema") or {}, problem.to_json(), now)
    return JSONResponse(
        body, status_code=problem.status, headers=problem.headers, media_type=media_type
    )


def _json_type(content: dict[str, Any]) -> str | None:
    names = (
        name for name in content if name.partition(";")[0].strip().endswith(("/json", "+json"))
    )
    return next(names, None)


def _fitting(document: Document, schema: Any, body: dict[str, Any], now: datetime) -> Any:
    """The problem document if the schema takes it, else one made up with as much of it as fits."""
    if document.book.is_valid(schema, body):
        return body
    scene = Scene(Random(0), now, now, body, lambda name: False, frozenset())
    with suppress(UnsupportedSchema):
        return Synthesizer(document.book, {}).object(schema, scene)
    return body
