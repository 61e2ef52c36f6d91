"""Rules on the contract around a call: confirmation, personal fields, credentials, servers."""

import json
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from rapidfuzz import fuzz, process

from orchestrator.catalog.card_types import CARD_TYPES, DEFAULT_CARD, OURS
from orchestrator.catalog.contract import (
    CARD_TYPES_KEY,
    CREDENTIAL,
    NEIGHBOURS,
    READ_ONLY,
    declared_types,
    input_name,
    read_server,
    security_alternatives,
    uncovered_credentials,
)
from orchestrator.catalog.contract_keywords import (
    LINT_IGNORE,
    PREFIXES,
    Breach,
    document_keywords,
    operation_keywords,
)
from orchestrator.catalog.declared_prices import MINOR_UNITS
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import FILES_KEY
from orchestrator.json_schema.walker import properties_of, walk


@rule("ORC030")
def known_keywords(subject: Subject) -> Iterator[Problem]:
    """Require that x-orchet-* and x-orqen-* keywords are in places where they are read."""
    yield from _unknown(subject.operation.node, operation_keywords().names, f"on {subject.name}")


def misplaced_keywords(root: DocumentNode) -> Iterator[Problem]:
    """Apply ORC030 outside operations: at the root of a document, and on its paths."""
    known = document_keywords().names | {FILES_KEY}
    yield from _unknown(root, known, "at the root of the document")
    for path, place in root.items("paths"):
        yield from _unknown(place, frozenset({LINT_IGNORE}), f"on the path {path}")


def _unknown(place: DocumentNode, known: frozenset[str], where: str) -> Iterator[Problem]:
    for keyword, found in place.raw_items():
        if keyword.startswith(PREFIXES) and keyword not in known:
            yield Problem(
                found.pointer,
                f"{keyword} {where} is not known, so nothing reads it",
                _better_place(keyword),
            )


_INSIDE: Final = {MINOR_UNITS: "the property with the amount", CREDENTIAL: "the parameter"}
"""Keywords of parts of an operation."""


def _better_place(keyword: str) -> str:
    on_operation, at_root = operation_keywords().names, document_keywords().names
    if keyword in on_operation:
        return "put it on the operation"
    if keyword in at_root:
        return "put it at the root of the document"
    if keyword in _INSIDE:
        return f"put it on {_INSIDE[keyword]}"
    near, *_ = process.extractOne(keyword, sorted(on_operation | at_root), scorer=fuzz.ratio)
    return f"did you mean {near}?"


@rule("ORC036")
def valid_values(subject: Subject) -> Iterator[Problem]:
    """Require values that the published schema of the keyword allows."""
    for breach in subject.breaches:
        yield breached(breach, f"on {subject.name}")


def valid_document_values(root: DocumentNode) -> Iterator[Problem]:
    """Apply ORC036 at the root of a document."""
    for breach in document_keywords().breaches(root):
        yield breached(breach, "at the root of the document")


def breached(breach: Breach, where: str) -> Problem:
    """Return the problem of a value that breaks its keyword's schema."""
    shown = f"{breach.keyword} {where} {breach.stated}"
    return Problem(breach.pointer, shown, f"write {breach.wanted}")


@rule("ORC031")
def declared_confirmation(subject: Subject) -> Iterator[Problem]:
    """Require a tool that may change something to declare confirmation."""
    # ORC043 requires more of a cancel tool.
    if subject.declared("x-orchet-cancel-for") is not None or _only_reads(subject):
        return
    dialects = (subject.declared(keyword) for keyword in NEIGHBOURS)
    # Other dialects' values count only if they are booleans.
    declared = any(found is not None and isinstance(found.value, bool) for found in dialects)
    if not declared and subject.declared("x-orchet-requires-confirmation") is None:
        yield Problem(
            subject.pointer,
            f"{subject.name} does not say whether a person must confirm it",
            "add x-orchet-requires-confirmation: a card type, or false to ask nobody"
            + ("" if subject.operation.method == "DELETE" else f"; {READ_ONLY}: true if it reads"),
        )


def _only_reads(subject: Subject) -> bool:
    if subject.tool is not None:
        return subject.tool.effect is Effect.READ
    return subject.operation.is_safe


@rule("ORC032")
def known_card_type(subject: Subject) -> Iterator[Problem]:
    """Require a standard card type, or one that the document declares."""
    declared = subject.declared("x-orchet-requires-confirmation")
    if declared is None or not isinstance(declared.value, str):
        return
    standard = {DEFAULT_CARD, *CARD_TYPES} - OURS
    if declared.value not in standard | declared_types(subject.operation.root).keys():
        yield Problem(
            declared.pointer,
            f"the card type {declared.value!r} of {subject.name} is not known",
            f"use one of {', '.join(sorted(standard))}, or list it under {CARD_TYPES_KEY}",
        )


@rule("ORC053")
def layout_has_facts(subject: Subject) -> Iterator[Problem]:
    """Require a declared layout to name inputs, or properties of answers."""
    if subject.tool is None or subject.tool.card_layout is None:
        return
    known = {*subject.tool.properties, *_answered(subject)}
    place = declared_types(subject.operation.root)[subject.tool.card_type or ""]
    for section in subject.tool.card_layout.sections:
        for field in section.fields:
            if field.name.split(".")[0] not in known:
                yield Problem(
                    place.pointer,
                    f"the layout of {subject.tool.card_type!r} shows {field.name!r}, which is no "
                    f"input of {subject.name} and in no answer of its document",
                )


def _answered(subject: Subject) -> Iterator[str]:
    """Yield the names of all properties in the answers of a document's tools."""
    for peer in subject.peers.values():
        for schema in walk(peer.tool.output_schema if peer.tool is not None else None):
            yield from properties_of(schema)


@rule("ORC033")
def pii_fields_exist(subject: Subject) -> Iterator[Problem]:
    """Require personal fields to be inputs."""
    listed = subject.declared("x-orchet-pii-required")
    if listed is None or subject.tool is None:
        return
    for place in listed.elements():
        name = input_name(place.text(), subject.tool.bindings)
        if name not in subject.tool.properties:
            yield Problem(
                place.pointer,
                f"{subject.name} has no input {place.text()!r} to hold a personal value",
            )


@rule("ORC034")
def credentials_resolve(subject: Subject) -> Iterator[Problem]:
    """Require a security requirement whose schemes are declared and can be sent."""
    offered = list(security_alternatives(subject.operation))
    if all(faults for _, faults in offered):
        yield from (_passed_over(subject, fault) for _, faults in offered for fault in faults)


@rule("ORC066")
def alternatives_can_be_sent(subject: Subject) -> Iterator[Problem]:
    """Report the security alternatives that are passed over for another one."""
    offered = list(security_alternatives(subject.operation))
    if not all(faults for _, faults in offered):
        yield from (_passed_over(subject, fault) for _, faults in offered for fault in faults)


def _passed_over(subject: Subject, fault: DocumentInvalid) -> Problem:
    return Problem(fault.pointer, f"{subject.name}: {fault.reason}", fault.remedy)


@rule("ORC067")
def credentials_are_schemes(subject: Subject) -> Iterator[Problem]:
    """Report parameters that carry a credential and belong to no security scheme."""
    for parameter in uncovered_credentials(subject.operation):
        name, place = parameter.require("name").text(), parameter.require("in").text()
        is_header = (name.lower(), place) == ("authorization", "header")
        scheme = "type: http, scheme: bearer" if is_header else f"type: apiKey, in: {place}"
        scheme = scheme if is_header else f"{scheme}, name: {json.dumps(name)}"
        fate = "sent from the secrets" if parameter.is_true("required") else "not sent"
        label = json.dumps(name)
        update = f"components: {{securitySchemes: {{{label}: {{{scheme}}}}}}}"
        is_own = subject.operation.node.raw("security") is not None
        update += "" if is_own else f", security: [{{{label}: []}}]"
        needed = ", and add it to the operation's security" if is_own else ""
        yield Problem(
            parameter.pointer,
            f"the parameter {name!r} is a credential: nobody is asked for it, and it is {fate}",
            f"make it a security scheme by an overlay: {{target: $, update: {{{update}}}}}{needed}"
            f"; or set {CREDENTIAL}: false on the parameter if it is an input",
        )


@rule("ORC035")
def absolute_server(subject: Subject) -> Iterator[Problem]:
    """Require a server with a host, to which a path can be added."""
    url, variables = read_server(subject.operation)
    for name, value in variables.items():
        url = url.replace(f"{{{name}}}", value)
    servers = subject.operation.inherited("servers")
    place = servers.pointer if servers is not None else ""
    if not _has_host(url):
        stated = (
            f"{subject.name} has no server with a host: {url!r}" if url else "no server is named"
        )
        yield Problem(place, stated)
    elif "?" in url or "#" in url:
        yield Problem(
            place,
            f"a query or a fragment follows the server of {subject.name}, where no path can stand",
            "remove it, and declare a query that each call needs as a parameter",
        )


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
