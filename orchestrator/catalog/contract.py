"""The x-orchet-* contract of an operation: effect, confirmation, personal fields, layout, hints.

The values are checked by the published schema first; see `KeywordSchema`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema.exceptions import ValidationError

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.source import read_contract_schema
from orchestrator.catalog.tool import CardLayout, Effect, InputBinding, LayoutField, LayoutSection
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import definition_of, format_pointer
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.words import name_words

NEIGHBOURS = ("x-openai-isConsequential", "x-requireConfirmation")
"""Keywords of other dialects that state if a person is asked first."""


READ_ONLY = "x-orchet-read-only"
IRREVERSIBLE = "x-orchet-irreversible"
SUCCESS_WHEN = "x-orchet-success-when"
PII = "x-orchet-pii-required"
CREDENTIAL = "x-orchet-credential"
"""Keyword of a parameter: true if it carries a credential, false if it does not."""
_CREDENTIAL_NAMES = (
    *("apikey", "apitoken", "apisecret", "accesstoken", "authtoken", "authkey", "clientsecret"),
    "subscriptionkey",
)
"""Endings of names, without separators."""
_KEY_WORDS = frozenset({"appid", "appkey", "key", "token", "secret", "auth"})
"""Last words of names that other things share; the description decides."""
_CREDENTIAL_TEXT = re.compile(
    r"\bapi(?:[ _-]\w{1,20})?[ _-]?(?:key|token|secret|credential)|\b(?:access|auth)[ _-]?token"
    r"|\bauthenticat|\bcredential|\b(?:your|client|app\w{0,9}) (?:secret|key|token|auth)"
    r"|\bsecret key|\bsubscription key",
    re.IGNORECASE,
)
CARD_TYPES_KEY = "x-orchet-card-types"
"""Root keyword under which a document declares its own card types."""


def read_effect(operation: Operation) -> Effect:
    """Return the effect of a call: declared consequences first, then declared reading.

    Confirmation does not matter here. If a document contradicts itself, the stronger effect wins; a
    DELETE is never a read.
    """
    reads, irreversible = _flag(operation, READ_ONLY), is_irreversible(operation)
    if operation.node.at("x-orchet-cancel-for") is not None:
        return Effect.CANCEL
    if operation.node.at("x-orchet-cancels") is not None:
        return Effect.OBLIGATION
    if irreversible or operation.method == "DELETE":
        return Effect.WRITE
    return Effect.READ if (operation.is_safe if reads is None else reads) else Effect.WRITE


def is_irreversible(operation: Operation) -> bool:
    """Return True if the document declares that no tool cancels a call."""
    return _flag(operation, IRREVERSIBLE) is True


def _flag(operation: Operation, keyword: str) -> bool | None:
    found = operation.node.at(keyword)
    return found.value is True if found is not None else None


def read_card_type(operation: Operation) -> str | None:
    """Return the type of the confirmation card, or None if a call needs no confirmation.

    If the document states nothing, a call with an effect is confirmed.
    """
    if operation.node.at("x-orchet-cancel-for") is not None:
        return None
    declared = operation.node.at("x-orchet-requires-confirmation")
    if declared is None:
        found = (operation.node.at(keyword) for keyword in NEIGHBOURS)
        flags = [place.value for place in found if place and isinstance(place.value, bool)]
        # If the two disagree, asking wins.
        asks = any(flags) if flags else read_effect(operation) is not Effect.READ
        return DEFAULT_CARD if asks else None
    if isinstance(declared.value, bool):
        return DEFAULT_CARD if declared.value else None
    return declared.text()


def names_personal(operation: Operation) -> tuple[str, ...]:
    """Return the names declared as personal, even for an operation that does not compile."""
    try:
        return tuple(operation.node.texts_at(PII))
    except DocumentInvalid:
        return ()


def input_name(name: str, bindings: Iterable[InputBinding]) -> str:
    """Return the input that a contract means by `name`: an input's own name, else a wire name."""
    known = tuple(bindings)
    if any(binding.name == name for binding in known):
        return name
    return next((binding.name for binding in known if binding.field == name), name)


def read_conditions(declared: DocumentNode) -> tuple[str, ...]:
    """Read one condition, or a list of them."""
    places = declared.elements() if isinstance(declared.value, list) else [declared]
    return tuple(place.text() for place in places)


def read_credentials(operation: Operation) -> tuple[str, ...]:
    """Return the names of the credentials of a call: security schemes, and bare parameters."""
    offered = list(security_alternatives(operation))
    first = next((r for r, _ in sorted(offered, key=lambda o: bool(o[1]))), None)
    bare = [p.require("name").text() for p in bare_credentials(operation)]
    return tuple(sorted({*(first.mapping() if first is not None else ()), *bare}))


def security_alternatives(
    operation: Operation,
) -> Iterator[tuple[DocumentNode, tuple[DocumentInvalid, ...]]]:
    """Yield each security requirement with the reasons why it is unsupported; none: supported."""
    root = operation.root
    security = operation.node.at("security") or root.at("security")
    for requirement in security.elements() if security is not None else ():
        faults: list[DocumentInvalid] = []
        for name, place in requirement.items():
            scheme = root.at("components", "securitySchemes", name)
            if scheme is None:
                reason = f"the credential {name!r} is not declared"
                fix = f"declare it under components.securitySchemes.{name}"
                faults.append(place.invalid(reason, fix))
                continue
            kind = scheme.text_at("type") or ""
            spoken = {
                "apiKey": scheme.text_at("in") in ("header", "query", "cookie"),
                "http": (scheme.text_at("scheme") or "").lower() in ("basic", "bearer"),
                "oauth2": True,
                "openIdConnect": True,
            }
            if not spoken.get(kind, False):
                named = f"http {scheme.text_at('scheme')}" if kind == "http" else kind or "no type"
                reason = f"the credential {name!r} is of a kind that we cannot send ({named})"
                fix = "use an apiKey, http basic or bearer, oauth2 or openIdConnect"
                faults.append(place.invalid(reason, fix))
        yield requirement, tuple(faults)


def is_credential(parameter: DocumentNode, root: DocumentNode) -> bool:
    """Return True for a parameter that carries a credential, which the planner is never asked for.

    The parameter is an API key that a security scheme declares, or `Authorization`, or its name,
    alone or with its description, shows that; x-orchet-credential on it overrides all of these.
    """
    declared = parameter.at(CREDENTIAL)
    if declared is not None:
        return declared.value is True
    name, place = parameter.require("name").text(), parameter.require("in").text()
    if place == "path" or (name.lower(), place) == ("authorization", "header"):
        return place != "path"
    if _schemes_of_parameter(root, name, place):
        return True
    words = name_words(name)
    said = _CREDENTIAL_TEXT.search(parameter.text_at("description") or "")
    is_key = bool({words[-1], "".join(words)} & _KEY_WORDS)
    return "".join(words).endswith(_CREDENTIAL_NAMES) or (is_key and said is not None)


def _schemes_of_parameter(root: DocumentNode, name: str, place: str) -> list[str]:
    return [
        scheme
        for scheme, found in root.items("components", "securitySchemes")
        if found.text_at("type") == "apiKey"
        and found.text_at("in") == place
        and (found.text_at("name") or "").lower() == name.lower()
    ]


def bare_credentials(operation: Operation) -> list[DocumentNode]:
    """Return the required credential parameters that no security requirement covers.

    These are sent all the same; optional ones are not.
    """
    return [p for p in uncovered_credentials(operation) if p.is_true("required")]


def uncovered_credentials(operation: Operation) -> list[DocumentNode]:
    """Return the credential parameters that no security requirement covers."""
    root = operation.root
    required = [r for r, faults in security_alternatives(operation) if not faults]
    asked = {scheme for requirement in required for scheme in requirement.mapping()}
    kinds = [root.at("components", "securitySchemes", scheme, "type") for scheme in asked]
    is_authorized = any(kind is not None and kind.value != "apiKey" for kind in kinds)
    found: list[DocumentNode] = []
    for parameter in operation.parameters():
        name, place = parameter.require("name").text(), parameter.require("in").text()
        if (name.lower(), place) == ("authorization", "header"):
            is_covered = is_authorized
        else:
            is_covered = not asked.isdisjoint(_schemes_of_parameter(root, name, place))
        if not is_covered and is_credential(parameter, root):
            found.append(parameter)
    return found


def read_server(operation: Operation) -> tuple[str, dict[str, str]]:
    """Return the URL template of the first server, and the defaults of its variables."""
    servers = operation.inherited("servers")
    server = next(servers.elements(), None) if servers is not None else None
    if server is None:
        return "", {}
    defaults = {n: str(v.require("default").value) for n, v in server.items("variables")}
    return server.require("url").text(), defaults


def declared_types(root: DocumentNode) -> dict[str, DocumentNode]:
    """Return the places of a document's own card types by name, without nameless entries."""
    listed = root.at(CARD_TYPES_KEY)
    if listed is None or not isinstance(listed.value, list):
        return {}
    found: dict[str, DocumentNode] = {}
    for place in listed.elements():
        name = place.value.get("name") if isinstance(place.value, dict) else place.value
        if isinstance(name, str):
            found[name] = place
    return found


def read_card_layout(operation: Operation, card_type: str | None) -> CardLayout | None:
    """Return the layout that the document defines for the card of a tool, or None.

    Raises:
        DocumentInvalid: the declared layout is malformed.
    """
    place = declared_types(operation.root).get(card_type or "")
    if place is None or not isinstance(place.value, dict):
        return None
    sections: list[LayoutSection] = []
    for section in place.elements("sections"):
        fields: list[LayoutField] = []
        for field in section.require("fields").elements():
            is_named = isinstance(field.value, dict)
            name = field.require("name").text() if is_named else field.text()
            label = field.text_at("label") if is_named else ""
            fields.append(LayoutField(name=name, label=label or ""))
        title = section.require("title").text()
        sections.append(LayoutSection(title=title, fields=tuple(fields)))
    return CardLayout(title=place.text_at("title") or "", sections=tuple(sections))


PREFIXES = ("x-orchet-", "x-orqen-")
LINT_IGNORE = "x-orchet-lint-ignore"
_MOST_SHOWN = 60
"""Characters of a value that a message quotes."""


@dataclass(frozen=True)
class Breach:
    """A value that breaks its keyword's schema."""

    keyword: str
    pointer: str
    stated: str
    """`is` or `holds`, and the value as JSON, shortened."""
    wanted: str
    """The expected value in a few words: the title of the schema."""


class KeywordSchema:
    """The keywords that one kind of place may have, and their schema."""

    def __init__(self, schema: JsonObject) -> None:
        """Take a JSON Schema whose properties are the keywords."""
        self.names = frozenset(properties_of(schema))
        self._schema = schema
        self._fast = jsonschema_rs.Draft202012Validator(schema)

    def breaches(self, place: DocumentNode) -> Iterator[Breach]:
        """Yield the faults of the values of keywords at a place.

        Raises:
            DocumentInvalid: a reference in place of a value leads nowhere.
        """
        found = ((keyword, place.at(keyword)) for keyword in self.names & place.mapping().keys())
        held = {keyword: value for keyword, value in sorted(found) if value is not None}
        if self._fast.is_valid({keyword: value.value for keyword, value in held.items()}):
            return
        # Imported here, because most documents have no fault.
        from openapi_schema_validator import OAS31Validator

        validator: Any = OAS31Validator(self._schema)
        for keyword, value in held.items():
            errors = validator.iter_errors({keyword: value.value})
            for error in (leaf for one in errors for leaf in _most_specific(one)):
                inside = list(error.absolute_path)[1:]
                schema = error.schema if isinstance(error.schema, dict) else {}
                text = json.dumps(error.instance, ensure_ascii=False)
                shown = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."
                yield Breach(
                    keyword=keyword,
                    pointer=value.pointer + format_pointer(inside),
                    stated=f"{'holds' if inside else 'is'} {shown}",
                    wanted=str(schema.get("title", "what its schema says")),
                )

    def check(self, place: DocumentNode) -> None:
        """Refuse a value that breaks its schema, except for the keyword of the linter.

        Raises:
            DocumentInvalid: with the place of the value.
        """
        for breach in self.breaches(place):
            if breach.keyword != LINT_IGNORE:
                reason = f"{breach.keyword} {breach.stated}"
                wanted = f"write {breach.wanted}"
                raise DocumentInvalid(place.document, breach.pointer, reason, wanted)


@cache
def operation_keywords() -> KeywordSchema:
    """Return the keywords of an operation."""
    return KeywordSchema(read_contract_schema())


@cache
def document_keywords() -> KeywordSchema:
    """Return the keywords of the root of a document."""
    published = read_contract_schema()
    return KeywordSchema({**published, **definition_of("#/$defs/document", published)})


def _most_specific(error: ValidationError) -> list[ValidationError]:
    """Return the deepest errors inside the failed alternatives, else the error itself."""
    inside = [nested for nested in error.context or () if nested.path]
    return [leaf for nested in inside for leaf in _most_specific(nested)] or [error]
