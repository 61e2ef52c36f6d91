"""Rules on the contract around a call: confirmation, personal fields, credentials, servers."""

import json
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from babel.core import get_global
from pydantic import JsonValue
from rapidfuzz import fuzz, process

from orchestrator.catalog.card_types import CARD_TYPES, DEFAULT_CARD, OURS
from orchestrator.catalog.contract import (
    CARD_TYPES_KEY,
    CREDENTIAL,
    LINT_IGNORE,
    NEIGHBOURS,
    PREFIXES,
    READ_ONLY,
    Breach,
    declared_types,
    document_keywords,
    input_name,
    operation_keywords,
    read_server,
    security_alternatives,
    uncovered_credentials,
)
from orchestrator.catalog.declared_prices import MINOR_UNITS, PRICE, minor_units_in
from orchestrator.catalog.expressions import parse_expression
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.money import (
    names_currency,
    plain_money,
    stated_price,
    units_of,
    views,
    views_inside,
)
from orchestrator.catalog.prices import place_of
from orchestrator.catalog.tool import Effect
from orchestrator.core import budget
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import FILES_KEY
from orchestrator.json_schema.walker import listed_values, properties_of, types_of, walk


@rule("ORC030")
def known_keywords(subject: Subject) -> Iterator[Problem]:
    yield from _unknown(subject.operation.node, operation_keywords().names, f"on {subject.name}")


def _unknown(place: DocumentNode, known: frozenset[str], where: str) -> Iterator[Problem]:
    on_operation, at_root = operation_keywords().names, document_keywords().names
    for keyword, found in place.raw_items():
        if not keyword.startswith(PREFIXES) or keyword in known:
            continue
        if keyword in on_operation:
            fix = "put it on the operation"
        elif keyword in at_root:
            fix = "put it at the root of the document"
        elif keyword in _INSIDE:
            fix = f"put it on {_INSIDE[keyword]}"
        else:
            every = sorted(on_operation | at_root)
            fix = f"did you mean {process.extractOne(keyword, every, scorer=fuzz.ratio)[0]}?"
        stated = f"{keyword} {where} is not known, so nothing reads it"
        yield Problem(found.pointer, stated, fix)


_INSIDE: Final = {MINOR_UNITS: "the property with the amount", CREDENTIAL: "the parameter"}
"""Keywords of parts of an operation."""


@rule("ORC036")
def valid_values(subject: Subject) -> Iterator[Problem]:
    for breach in subject.breaches:
        yield breached(breach, f"on {subject.name}")


def breached(breach: Breach, where: str) -> Problem:
    """Return the problem of a value that breaks its keyword's schema."""
    shown = f"{breach.keyword} {where} {breach.stated}"
    return Problem(breach.pointer, shown, f"write {breach.wanted}")


def keyword_problems(root: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Apply ORC030 and ORC036 outside operations: at the root of a document, and on its paths."""
    known = document_keywords().names | {FILES_KEY}
    unknown = [*_unknown(root, known, "at the root of the document")]
    for path, place in root.items("paths"):
        unknown += _unknown(place, frozenset({LINT_IGNORE}), f"on the path {path}")
    yield from ((known_keywords.code, problem) for problem in unknown)
    for breach in document_keywords().breaches(root):
        yield valid_values.code, breached(breach, "at the root of the document")


@rule("ORC031")
def declared_confirmation(subject: Subject) -> Iterator[Problem]:
    # ORC043 requires more of a cancel tool.
    tool, is_safe = subject.tool, subject.operation.is_safe
    reads = tool.effect is Effect.READ if tool is not None else is_safe
    if reads or subject.declared("x-orchet-cancel-for") is not None:
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


@rule("ORC032")
def known_card_type(subject: Subject) -> Iterator[Problem]:
    declared = subject.declared("x-orchet-requires-confirmation")
    if declared is None or not isinstance(declared.value, str):
        return
    standard = {DEFAULT_CARD, *CARD_TYPES} - OURS
    if declared.value not in standard | declared_types(subject.operation.root).keys():
        text = f"the card type {declared.value!r} of {subject.name} is not known"
        fix = f"use one of {', '.join(sorted(standard))}, or list it under {CARD_TYPES_KEY}"
        yield Problem(declared.pointer, text, fix)


@rule("ORC053")
def layout_has_facts(subject: Subject) -> Iterator[Problem]:
    if subject.tool is None or subject.tool.card_layout is None:
        return
    peers = [peer.tool for peer in subject.peers.values() if peer.tool is not None]
    answers = (schema for peer in peers for schema in walk(peer.output_schema))
    known = {*subject.tool.properties, *(name for held in answers for name in properties_of(held))}
    place = declared_types(subject.operation.root)[subject.tool.card_type or ""]
    for section in subject.tool.card_layout.sections:
        for field in section.fields:
            if field.name.split(".")[0] not in known:
                yield Problem(
                    place.pointer,
                    f"the layout of {subject.tool.card_type!r} shows {field.name!r}, which is no "
                    f"input of {subject.name} and in no answer of its document",
                )


@rule("ORC033")
def pii_fields_exist(subject: Subject) -> Iterator[Problem]:
    listed = subject.declared("x-orchet-pii-required")
    if listed is None or subject.tool is None:
        return
    for place in listed.elements():
        name = input_name(place.text(), subject.tool.bindings)
        if name not in subject.tool.properties:
            text = f"{subject.name} has no input {place.text()!r} to hold a personal value"
            yield Problem(place.pointer, text)


@rule("ORC034")
def credentials_resolve(subject: Subject) -> Iterator[Problem]:
    yield from _credential_problems(subject, of_all=True)


@rule("ORC066")
def alternatives_can_be_sent(subject: Subject) -> Iterator[Problem]:
    yield from _credential_problems(subject, of_all=False)


def _credential_problems(subject: Subject, *, of_all: bool) -> Iterator[Problem]:
    """Yield the faults of security requirements, if all have faults, or if some have none."""
    offered = [faults for _, faults in security_alternatives(subject.operation)]
    for fault in (fault for faults in offered for fault in faults if all(offered) is of_all):
        yield Problem(fault.pointer, f"{subject.name}: {fault.reason}", fault.remedy)


@rule("ORC067")
def credentials_are_schemes(subject: Subject) -> Iterator[Problem]:
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
    url, variables = read_server(subject.operation)
    for name, value in variables.items():
        url = url.replace(f"{{{name}}}", value)
    servers = subject.operation.inherited("servers")
    place = servers.pointer if servers is not None else ""
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in ("http", "https") and bool(parts.netloc)
    except ValueError:
        has_host = False
    if not has_host:
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


_MOST_LEVELS: Final = 6
_CODE: Final = "EUR"
_SCALARS: Final = ("boolean", "integer", "number", "string")


@rule("ORC060")
def price_is_readable(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    is_consequence = tool is not None and tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    if tool is None or not is_consequence or not tool.spends or tool.card_type == DEFAULT_CARD:
        return
    declared = tool.price
    if declared is not None and (declared.expected is not None or declared.charged is not None):
        return
    own = [body for s in (tool.input_schema, tool.output_schema) for body in _samples(s)]
    if any(stated_price(body) is not None for body in own):
        return
    ids = {name for name in tool.properties if name.endswith("_id")}
    for peer in subject.peers.values():
        # Another tool may quote the price of a thing with one of these ids.
        if peer is subject or peer.tool is None or peer.tool.is_side_effect:
            continue
        items = (item for body in _samples(peer.tool.output_schema) for item in _objects(body))
        if any(ids & item.keys() and stated_price(item) is not None for item in items):
            return
    yield Problem(
        subject.pointer,
        f"{subject.name} is confirmed as something that costs money, and nothing says how much: "
        "neither its request, nor an answer that quotes what it is given, nor its own",
    )


@rule("ORC061")
def declared_price_is_there(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or tool.price is None:
        return
    declared = [place for place in (tool.price.expected, tool.price.charged) if place is not None]
    for written in (text for one in declared for text in (one.amount, one.currency)):
        if written is None or not written.startswith("$"):
            continue
        place = place_of(parse_expression(written), tool)
        # Nothing is there if the schemas describe its surroundings but not the place.
        steps = place.schemas() if place is not None else []
        missing = next((at for at, held in enumerate(steps) if not held), 0)
        around = steps[missing - 1] if missing else ()
        if place is None or any("properties" in v or v.get("type") in _SCALARS for v in around):
            yield Problem(
                subject.pointer_to(PRICE),
                f"{PRICE} on {subject.name} reads {written}, where nothing is",
            )


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _objects(inner)


def _samples(schema: JsonObject | None) -> Iterator[JsonValue]:
    """Yield bodies with every property present, each with its plainest value.

    The reader of prices decides which numbers are money. In the first body, a text that may be an
    amount has no decimals, like a number of cents.
    """
    root = schema or {}
    for text in ("1", "1.50"):
        yield plain_money(_sample("", views(root, root), root, text), schema)


def _sample(
    name: str, held_by: tuple[JsonObject, ...], root: JsonObject, text: str, level: int = 0
) -> JsonValue:
    if level > _MOST_LEVELS:
        return None
    if names := dict.fromkeys(name for view in held_by for name in properties_of(view)):
        own = {n: views_inside(held_by, n, root) for n in names}
        return {n: _sample(n, inner, root, text, level + 1) for n, inner in own.items()}
    for view in held_by:
        if isinstance(items := view.get("items"), dict):
            return [_sample(name, views(items, root), root, text, level + 1)]
    if names_currency(name):
        listed = [code for v in held_by for code in (*listed_values(v), v.get("default"))]
        return next((code for code in listed if isinstance(code, str)), _CODE)
    types = {kind for view in held_by for kind in types_of(view)}
    return 1 if types & {"number", "integer"} else text if "string" in types else None


CONTRADICTION = "ORC062"
CURRENCY = "ORC063"
UNLIKE_ISO = "ORC071"
FORMER = "ORC069"


def money_problems(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Yield faults of money among the properties of one schema."""
    found = schema.raw("properties") if isinstance(schema.value, dict) else None
    for name, place in found.raw_items() if found and isinstance(found.value, dict) else ():
        if not isinstance(place.value, dict):
            continue
        written = place.value
        declared, at = written.get(MINOR_UNITS), f"{place.pointer}/{MINOR_UNITS}"
        if MINOR_UNITS in written and minor_units_in(declared) is None:
            wanted = (
                "write true, false, a number of decimals, or a map such as {default: iso, ISK: 2}"
            )
            problem = Problem(at, f"{MINOR_UNITS} of {name!r} is none of these", wanted)
            yield valid_values.code, problem
        words = {key: value for key, value in written.items() if key != MINOR_UNITS}
        stated = units_of(name, words)
        if stated.is_minor and "major" in stated.words:
            text = f"the words of {name!r} name both the smallest unit of its currency and the"
            fix = f"say one of them, or add {MINOR_UNITS}: true or false; until then it is unknown"
            yield CONTRADICTION, Problem(place.pointer, f"{text} whole one", fix)
        elif isinstance(declared, bool) and (
            "major" in stated.words if declared else stated.is_minor
        ):
            text = f"{MINOR_UNITS}: {str(declared).lower()} on {name!r} contradicts its own words"
            yield CONTRADICTION, Problem(at, text)
        inner = [written, *properties_of(written).values()]
        if "unlike" in units_of("", words).words and not any(MINOR_UNITS in one for one in inner):
            text = f"the words of {name!r} count the decimals of some currency otherwise than ISO"
            fix = f"add {MINOR_UNITS} with these currencies, such as {{default: iso, ISK: 2}}"
            problem = Problem(
                place.pointer, f"{text} 4217, so its amounts are of unknown size", fix
            )
            yield UNLIKE_ISO, problem
        if not names_currency(name):
            continue
        listed = place.raw("enum")
        codes = [place.raw("const"), place.raw("default")]
        if listed is not None and isinstance(listed.value, list):
            codes += listed.raw_elements()
        for code in codes:
            value = code.value if code is not None else None
            if code is None or not isinstance(value, str) or budget.is_currency(value.upper()):
                continue
            is_former = value.upper() in get_global("all_currencies")
            known = "no currency any more" if is_former else "no currency of ISO 4217"
            text = f"{value!r} of {name!r} is {known}, so no price can be in it"
            yield FORMER if is_former else CURRENCY, Problem(code.pointer, text)
