"""Compiled tools: the contract that the other rooms read."""

import hashlib
import re
import uuid
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import Field, SkipValidation

from orchestrator.catalog.card_types import spends
from orchestrator.catalog.declared_prices import CompensationFee, PriceContract
from orchestrator.core import compensation_limits
from orchestrator.core.compensation_limits import SETTLES_AFTER
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, required_of
from orchestrator.language.inflection import singular
from orchestrator.language.words import tokens

Schema = Annotated[JsonObject, SkipValidation]
"""A compiled JSON Schema, never changed and never copied by validation.

The tools of a document share most of their schemas.
"""
Location = Literal["path", "query", "header", "cookie", "body"]
ENDED = frozenset({"declined", "denied", "error", "failed", "refused", "rejected"})
"""States of something that was not done and will not be; docs/contract.md lists them."""
SCHEMA_FIELDS = frozenset({"input_schema", "output_schema"})


class LayoutField(Record):
    """An input, or a property of an earlier answer about the same resource."""

    name: str
    label: str = ""


class LayoutSection(Record):
    """Fields under a heading."""

    title: str
    fields: tuple[LayoutField, ...]


class CardLayout(Record):
    """Layout of the card of a declared type."""

    title: str = ""
    sections: tuple[LayoutSection, ...] = ()


class Effect(StrEnum):
    """Effect of a call at the provider."""

    READ = "read"
    """The call changes nothing and may be repeated."""
    OBLIGATION = "obligation"
    """The declared cancel tool cancels the call."""
    WRITE = "write"
    """No declared tool cancels the call: rollback parks it for an operator."""
    CANCEL = "cancel"
    """The call cancels an obligation of another tool."""


class InputBinding(Record):
    """Place of one input of the tool in the HTTP request."""

    name: str = Field(description="the property of the tool's input schema")
    location: Location
    field: str = Field(description="the name on the wire; '' when the input is the whole body")
    required: bool = False
    style: str = "simple"
    explode: bool = False


KeyForm = Literal["text", "uuid", "UUID", "hex", "HEX", "letters", "LETTERS", "digits"]
"""Form of a key; `text` is the id of the call, unchanged."""
_UUID_PATTERN = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_KEY_PATTERNS: Final = {
    "uuid": re.compile(_UUID_PATTERN),
    "UUID": re.compile(_UUID_PATTERN.replace("a-f", "A-F").replace("ab", "AB")),
    "hex": re.compile("[0-9a-f]+"),
    "HEX": re.compile("[0-9A-F]+"),
    "letters": re.compile("[a-p]+"),
    "LETTERS": re.compile("[A-P]+"),
    "digits": re.compile("[0-9]+"),
}
_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


class IdempotencyKey(Record):
    """The field of a request by which a provider recognises a repetition, and its form.

    The field is no input of the tool: the orchestrator fills it.
    """

    location: Location
    field: str = Field(description="the name on the wire")
    form: KeyForm = "text"
    length: int = Field(default=0, description="of `text` the longest, 0 for any; else exact")

    def written(self, key: str) -> str:
        """Return the key in this form: deterministic, and unchanged if the key has the form."""
        if self.form == "text":
            is_short = not self.length or len(key) <= self.length
            return key if is_short else _derived(key, "uuid", self.length)
        has_form = len(key) == self.length and _KEY_PATTERNS[self.form].fullmatch(key)
        return key if has_form else _derived(key, self.form, self.length)


def _derived(key: str, form: KeyForm, length: int) -> str:
    digest = hashlib.sha512(key.encode(errors="replace"))
    if form in ("uuid", "UUID"):
        text = str(uuid.UUID(bytes=digest.digest()[:16], version=4))
        return text.upper() if form == "UUID" else text
    if form == "digits":
        return f"{int(digest.hexdigest(), 16):0{length}d}"[-length:]
    text = digest.hexdigest()[:length]
    text = text.translate(_LETTERS) if form in ("letters", "LETTERS") else text
    return text.upper() if form in ("HEX", "LETTERS") else text


class ToolCallTemplate(Record):
    """A call of another tool, with inputs filled by OpenAPI runtime expressions and constants."""

    tool: str
    arguments: JsonObject = Field(
        default_factory=dict,
        description="input name to expression, e.g. $response.body#/booking_id, or to a constant; "
        "an expression that finds nothing leaves the input out",
    )


class Compensation(Record):
    """The x-orchet-cancels and x-orchet-compensation-* contract: how an obligation is cancelled."""

    cancel: ToolCallTemplate
    then: tuple[ToolCallTemplate, ...] = Field(
        default=(),
        description="calls after the cancel that complete it, each filled from the answer before",
    )
    probe: ToolCallTemplate | None = None
    gone_when: tuple[str, ...] = Field(
        default=(),
        description="conditions over the probe's answer that all hold once it is cancelled",
    )
    settles_after: timedelta = Field(
        default=SETTLES_AFTER,
        description="time in which a call may still come to light that the probe does not find",
    )
    timeout: timedelta = compensation_limits.CALL_TIMEOUT
    max_attempts: int = Field(default=compensation_limits.ATTEMPTS, ge=1)
    window: timedelta | None = Field(
        default=None, description="time after commitment in which the provider still cancels"
    )
    on_failure: Literal["park", "continue"] = "park"
    fee: CompensationFee | None = Field(
        default=None, description="cost of the cancel; None if undeclared"
    )

    @property
    def templates(self) -> tuple[ToolCallTemplate, ...]:
        """The cancel, and the probe if there is one."""
        return (self.cancel, self.probe) if self.probe is not None else (self.cancel,)


class Tool(Record):
    """A compiled operation."""

    name: str = Field(description="the operationId")
    document: str = Field(description="the name of the document it comes from, e.g. flights")
    domain: str = Field(description="the operation's first tag, else the document's name")
    summary: str = ""
    description: str = ""
    method: str = Field(default="POST", description="upper case")
    path: str = Field(default="", description="the path template, e.g. /bookings/{booking_id}")
    server: str = Field(default="", description="server URL template, variables unresolved")
    server_variables: dict[str, str] = Field(
        default_factory=dict, description="defaults of the server's variables"
    )
    input_schema: Schema = Field(
        description="JSON Schema 2020-12, an object; local $refs are resolved into $defs"
    )
    output_schema: Schema | None = Field(
        default=None, description="schema of the success answer; None when it has no JSON body"
    )
    bindings: tuple[InputBinding, ...] = ()
    body_content_type: str | None = None
    effect: Effect = Effect.READ
    irreversible: bool = Field(
        default=False, description="true if the document declares that no tool cancels a call"
    )
    card_type: str | None = Field(
        default=None,
        description="the confirmation card's type; None when the contract says no confirmation",
    )
    card_layout: CardLayout | None = Field(
        default=None, description="layout of a card type that the document declares"
    )
    price: PriceContract | None = Field(
        default=None, description="declared places of the price of a call"
    )
    pii_fields: tuple[str, ...] = ()
    intent_tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    load_policy: Literal["core", "deferred"] = "deferred"
    compensation: Compensation | None = None
    cancel_for: str | None = None
    deprecated: bool = False
    success_when: tuple[str, ...] = Field(
        default=(), description="conditions that a successful answer meets"
    )
    idempotency_key: IdempotencyKey | None = Field(
        default=None, description="the field that takes an idempotency key, if any does"
    )
    reference_inputs: tuple[str, ...] = Field(
        default=(),
        description="string inputs that the cancel or probe reads back from the request: the "
        "orchestrator fills them with the call's id when the planner leaves them out",
    )
    credentials: tuple[str, ...] = Field(
        default=(), description="security schemes of the first requirement: all are attached"
    )

    def as_json(self) -> JsonObject:
        """Return the tool in JSON's types, without defaults; its schemas are not copied."""
        content: JsonObject = self.model_dump(
            mode="json", exclude=set(SCHEMA_FIELDS), exclude_defaults=True
        )
        return {**content, **{name: getattr(self, name) for name in SCHEMA_FIELDS}}

    @property
    def address_inputs(self) -> tuple[str, ...]:
        """The inputs with which the caller of a PUT chooses the address (RFC 9110, 9.3.4)."""
        if self.method != "PUT":
            return ()
        return tuple(one.name for one in self.bindings if one.location == "path")

    def key_of(self, key: str) -> str | None:
        """Return an idempotency key in the form of this tool's provider; None without one."""
        return self.idempotency_key.written(key) if self.idempotency_key is not None else None

    def reads_key(self, location: str, field: str) -> bool:
        """Return True if a place of the request is that of the idempotency key."""
        key = self.idempotency_key
        if key is None or key.location != location:
            return False
        is_same = key.field.lower() == field.lower() if location == "header" else False
        return is_same or key.field == field

    @property
    def needs_confirmation(self) -> bool:
        """True if a person must approve each call."""
        return self.card_type is not None

    @property
    def is_side_effect(self) -> bool:
        """True if a call changes anything at the provider."""
        return self.effect is not Effect.READ

    @property
    def spends(self) -> bool:
        """True if a call costs money; claims and free calls do not."""
        is_free = self.price is not None and self.price.is_free
        return (
            self.is_side_effect
            and not is_free
            and self.card_type is not None
            and spends(self.card_type)
        )

    @property
    def title(self) -> str:
        """The effect of a call in the words of its contract."""
        return self.summary.rstrip(".") or self.name.replace("_", " ")

    @property
    def required_inputs(self) -> tuple[str, ...]:
        """Inputs that a caller must give, in the schema's order."""
        return required_of(self.input_schema)

    @property
    def properties(self) -> dict[str, JsonObject]:
        """Schema by input name; `true` becomes {}."""
        return properties_of(self.input_schema)


def thing_of(tool: Tool) -> str:
    """Return the thing that a path lists or creates: "pet" for /pets, '' for /pets/{pet_id}."""
    last = tool.path.rstrip("/").rpartition("/")[2]
    return "" if "{" in last else singular(last)


def thing_with_id(tool: Tool) -> str:
    """Return that thing if the answer is one, or a list of them, with a plain `id`; else ''."""
    schema = tool.output_schema or {}
    root = resolve(schema, schema)
    parts = [resolve(part, schema) for part in (root, *properties_of(root).values())]
    held = [part["items"] for part in parts if isinstance(part.get("items"), dict)]
    members = [resolve(items, schema) for items in held if isinstance(items, dict)]
    listed = [one for one in members if properties_of(one)]
    if len(listed) > 1:
        return ""
    stated = listed[0] if listed else root
    return thing_of(tool) if "id" in properties_of(stated) else ""


@lru_cache(maxsize=1 << 12)
def id_names(thing: str) -> frozenset[str]:
    """Return the names of inputs for the id of a thing: pet_id, petId, pet-id."""
    words = [*tokens(thing), "id"] if thing else []
    camel = "".join((*words[:1], *(word.title() for word in words[1:])))
    return frozenset({"_".join(words), "-".join(words), camel} - {""})
