"""Asks for the credentials that an operation declares; any value passes unless tokens are set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from starlette.requests import Request

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.served_operations import ServedOperation


def check_credentials(
    document: Document,
    operation: ServedOperation,
    request: Request,
    *,
    tokens: Collection[str] = (),
) -> None:
    """Pass when one of the operation's security alternatives is met.

    Args:
        document: whose security schemes apply.
        operation: what is called; its own `security` replaces the document's.
        request: its headers, cookies and query.
        tokens: the credentials that are known; empty accepts any non-empty one.

    Raises:
        RequestRefused: 401; the credential is missing or unknown.
    """
    alternatives = operation.raw.get("security", document.raw.get("security")) or []
    if not alternatives or any(not alternative for alternative in alternatives):
        return
    schemes = document.raw.get("components", {}).get("securitySchemes", {})
    for alternative in alternatives:
        found = [_credential(schemes.get(name, {}), request) for name in alternative]
        if all(value and (not tokens or value in tokens) for value in found):
            return
    wanted = " or ".join(" and ".join(alternative) for alternative in alternatives)
    raise RequestRefused(
        401,
        f"{operation.operation_id} needs the credential {wanted}; it is missing or unknown.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _credential(scheme: Mapping[str, Any], request: Request) -> str | None:
    if scheme.get("type") == "apiKey":
        places = {"query": request.query_params, "cookie": request.cookies}
        return places.get(str(scheme.get("in")), request.headers).get(str(scheme.get("name")))
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    # OAuth 2 and OpenID Connect end in a bearer token.
    wanted = str(scheme.get("scheme", "bearer")).lower()
    return value.strip() if kind.lower() == wanted else None
