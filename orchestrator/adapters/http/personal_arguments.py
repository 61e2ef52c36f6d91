"""Personal values of a call: handles get versions before approval, and values when sent."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid, PiiMissing
from orchestrator.core.pii import Handle, field_of, handle_of, replace_handles
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of


class HeldValue(Protocol):
    """One value of a personal field."""

    @property
    def value(self) -> str:
        """The value that is sent."""

    @property
    def scope(self) -> str:
        """The mission that the value was given to; empty: it belongs to the vault's owner."""


class PersonalValues(Protocol):
    """Values of personal fields in a vault."""

    def current(self, field: str) -> Handle | None:
        """Return the handle, with its version, of the owner's current value; None without one."""

    def find(self, handle: Handle) -> HeldValue | None:
        """Return the value of a handle with a version; None if it was removed."""


@dataclass(frozen=True)
class PinnedArguments:
    """Arguments with versions in their handles, or the reasons why those are missing."""

    arguments: JsonObject
    missing: tuple[str, ...] = ()
    """Fields without a stored value."""
    gone: tuple[str, ...] = ()
    """Fields whose pinned value is no longer in the vault."""
    foreign: tuple[str, ...] = ()
    """Fields whose pinned value belongs to another mission."""
    files: tuple[ReceivedFile, ...] = ()
    """The files whose handles are in the arguments."""
    unsendable: tuple[str, ...] = ()
    """Reasons why files cannot be sent, a sentence each."""


def pin_arguments(
    arguments: JsonObject,
    handles: Sequence[Handle],
    values: PersonalValues,
    *,
    mission_id: str,
    brought: Collection[Handle] = (),
) -> PinnedArguments:
    """Return the arguments with a version in every handle.

    The values that the mission was started with (`brought`) precede the owner's.
    """
    found, refused = _looked_up(handles, values, mission_id, brought)
    if refused is not None:
        return replace(refused, arguments=arguments)
    fields = {handle.field for handle in found}
    exact = {handle: pinned for handle, (pinned, _) in found.items()}
    return PinnedArguments({name: _pinned(v, fields, exact) for name, v in arguments.items()})


def _looked_up(
    handles: Sequence[Handle],
    values: PersonalValues,
    mission_id: str,
    brought: Collection[Handle] = (),
) -> tuple[dict[Handle, tuple[Handle, HeldValue]], PinnedArguments | None]:
    """Return each handle's version and value, and the reasons why some have none."""
    own = {handle.field: handle for handle in brought if handle.version}
    found: dict[Handle, tuple[Handle, HeldValue]] = {}
    missing, gone, foreign = set(), set(), set()
    for handle in handles:
        exact = handle if handle.version else own.get(handle.field) or values.current(handle.field)
        if exact is None:
            missing.add(handle.field)
        elif (held := values.find(exact)) is None:
            gone.add(exact.field)
        elif held.scope not in ("", mission_id):
            foreign.add(exact.field)
        else:
            found[handle] = exact, held
    if not (missing or gone or foreign):
        return found, None
    why = (tuple(sorted(missing)), tuple(sorted(gone)), tuple(sorted(foreign)))
    return found, PinnedArguments({}, *why)


def read_values(
    tool: str, handles: Sequence[Handle], values: PersonalValues, *, mission_id: str
) -> dict[Handle, str]:
    """Return the values that a call sends, by handle.

    A handle without a version means the owner's current value.

    Raises:
        PiiMissing: names all fields without a value, so that they can be stored at once.
        PiiMissing: as PiiGone: the vault no longer has a pinned value.
        ArgumentsInvalid: a value belongs to another mission.
    """
    found, refused = _looked_up(handles, values, mission_id)
    if refused is not None and refused.missing:
        raise PiiMissing(refused.missing)
    if refused is not None and refused.gone:
        raise pii_gone(refused.gone)
    if refused is not None:
        raise ArgumentsInvalid(tool, foreign_problems(refused.foreign))
    return {handle: held.value for handle, (_, held) in found.items()}


def pii_gone(fields: Sequence[str]) -> PiiMissing:
    """Return the error for values whose pinned versions the vault no longer holds."""
    reason = (
        f"the PII vault of this worker no longer holds the value of {', '.join(fields)} that this "
        "call means: it was purged, forgotten or kept for longer than the retention time, or the "
        "mission was started with another vault"
    )
    return PiiMissing(fields, reason, code="PiiGone")


def foreign_problems(fields: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each field with the value of another mission."""
    return tuple(
        f"{field} names a value that another mission was started with; give pii:{field}"
        for field in fields
    )


def _pinned(value: JsonValue, fields: Collection[str], exact: Mapping[Handle, Handle]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _pinned(held, fields, exact) for name, held in value.items()}
    if isinstance(value, list):
        return [_pinned(held, fields, exact) for held in value]
    if not isinstance(value, str):
        return value
    whole = handle_of(value)
    if whole is not None:
        return str(exact.get(whole, whole))
    return replace_handles(value, fields, lambda found: str(exact.get(found, found)))


def reveal_arguments(tool: Tool, arguments: JsonObject, values: Mapping[Handle, str]) -> JsonObject:
    """Return the arguments with values in the place of handles.

    A handle that is a whole argument becomes a value of its schema's type: the vault holds text,
    and `1984` may have to be a number. A handle inside other text becomes text.
    """
    if not values:
        return arguments
    properties = tool.properties
    return {
        name: _reveal(value, properties.get(name, {}), tool.input_schema, values)
        for name, value in arguments.items()
    }


def personal_literals(tool: Tool, arguments: JsonObject) -> list[tuple[Handle, str]]:
    """Return personal inputs that were given as values, not handles; they are hidden as well."""
    given = [(name, arguments.get(name)) for name in tool.pii_fields]
    return [
        (Handle(name), str(value))
        for name, value in given
        if isinstance(value, str | int | float) and field_of(value) is None
    ]


def _reveal(
    value: JsonValue, schema: JsonObject, root: JsonObject, values: Mapping[Handle, str]
) -> JsonValue:
    schema = resolve(schema, root)
    if isinstance(value, dict):
        properties = properties_of(schema)
        return {k: _reveal(v, properties.get(k, {}), root, values) for k, v in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        element = items if isinstance(items, dict) else {}
        return [_reveal(held, element, root, values) for held in value]
    if not isinstance(value, str):
        return value
    handle = handle_of(value)
    if handle is not None and handle in values:
        text, declared = values[handle], schema.get("type", "string")
        if "string" not in (declared if isinstance(declared, list) else [declared]):
            with suppress(ValueError):  # the check that follows reports a wrong type
                revealed: JsonValue = json.loads(text)
                return revealed
        return text
    fields = {known.field for known in values}
    return replace_handles(value, fields, lambda found: values.get(found, str(found)))
