"""Rules on the contract around a call: confirmation, personal fields, credentials, servers."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from rapidfuzz import fuzz, process

from orchestrator.catalog.contract import DEFAULT_CARD, input_name, read_server
from orchestrator.catalog.lint.finding import Problem
from orchestrator.catalog.lint.subject import Subject

CARD_TYPES = frozenset(
    {
        DEFAULT_CARD,
        "structured-expense",
        "structured-itinerary",
        "structured-message",
        "structured-order",
        "structured-payment",
        "structured-reservation",
    }
)
CARD_TYPES_KEY = "x-orchet-card-types"
"""Where a document lists the card types of its own, at its root."""
KEYWORDS = frozenset(
    {
        "x-orchet-cancel-for",
        "x-orchet-cancels",
        "x-orchet-compensation-args",
        "x-orchet-compensation-max-attempts",
        "x-orchet-compensation-on-failure",
        "x-orchet-compensation-probe",
        "x-orchet-compensation-timeout",
        "x-orchet-compensation-window",
        "x-orchet-intent-tags",
        "x-orchet-load-policy",
        "x-orchet-pii-required",
        "x-orchet-requires-confirmation",
        "x-orchet-tool",
        "x-orqen-examples",
    }
)
_DIALECTS = ("x-openai-isConsequential", "x-requireConfirmation")


def known_keywords(subject: Subject) -> Iterator[Problem]:
    """ORC030: every x-orchet-* and x-orqen-* keyword is one that is read."""
    for keyword, place in subject.operation.node.raw_items():
        if keyword.startswith(("x-orchet-", "x-orqen-")) and keyword not in KEYWORDS:
            near = process.extractOne(keyword, sorted(KEYWORDS), scorer=fuzz.ratio)
            yield Problem(
                place.pointer,
                f"{keyword} on {subject.name} is not known, so nothing reads it",
                f"did you mean {near[0]}?" if near is not None else "remove it",
            )


def declared_confirmation(subject: Subject) -> Iterator[Problem]:
    """ORC031: a method that is not GET or HEAD says whether it needs confirmation."""
    if subject.operation.is_safe:
        return
    if all(subject.said(k) is None for k in ("x-orchet-requires-confirmation", *_DIALECTS)):
        yield Problem(
            subject.pointer,
            f"{subject.name} does not say whether a person must confirm it",
            "add x-orchet-requires-confirmation: a card type, or false if it changes nothing",
        )


def known_card_type(subject: Subject) -> Iterator[Problem]:
    """ORC032: the card type is one of the standard ones, or declared by the document."""
    said = subject.said("x-orchet-requires-confirmation")
    if said is None or not isinstance(said.value, str):
        return
    own = subject.operation.root.at(CARD_TYPES_KEY)
    declared = own.value if own is not None and isinstance(own.value, list | dict) else ()
    if said.value not in CARD_TYPES and said.value not in declared:
        yield Problem(
            said.pointer,
            f"the card type {said.value!r} of {subject.name} is not known",
            f"use one of {', '.join(sorted(CARD_TYPES))}, or list it under {CARD_TYPES_KEY}",
        )


def pii_fields_exist(subject: Subject) -> Iterator[Problem]:
    """ORC033: every personal field is an input."""
    listed = subject.said("x-orchet-pii-required")
    if listed is None or subject.tool is None:
        return
    for place in listed.elements():
        name = input_name(place.text(), subject.tool.bindings)
        if name not in subject.tool.properties:
            yield Problem(
                place.pointer,
                f"{subject.name} has no input {place.text()!r} to hold a personal value",
                "name an input, or add it to the parameters or the body",
            )


def credentials_resolve(subject: Subject) -> Iterator[Problem]:
    """ORC034: every security scheme that is asked for is declared."""
    root = subject.operation.root
    security = subject.said("security") or root.at("security")
    components = root.at("components")
    schemes = components.at("securitySchemes") if components is not None else None
    declared = schemes.mapping() if schemes is not None else {}
    for requirement in security.elements() if security is not None else ():
        for name, place in requirement.raw_items():
            if name not in declared:
                yield Problem(
                    place.pointer,
                    f"{subject.name} asks for the credential {name!r}, which is not declared",
                    f"declare it under components.securitySchemes.{name}",
                )


def absolute_server(subject: Subject) -> Iterator[Problem]:
    """ORC035: there is a server with a host, for only declared hosts are ever called."""
    url, _ = read_server(subject.operation)
    if not _has_host(url):
        servers = subject.operation.inherited("servers")
        yield Problem(
            servers.pointer if servers is not None else subject.pointer,
            f"{subject.name} has no server with a host: {url!r}" if url else "no server is named",
            "add servers with an absolute http(s) URL; its variables may be set by configuration",
        )


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
