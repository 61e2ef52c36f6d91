"""Which value each handle of a call means: pinned when it is prepared, read when it is sent."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pydantic import JsonValue

from orchestrator.core.errors import ArgumentsInvalid, PiiGone, PiiMissing
from orchestrator.core.pii import Handle, handle_of, replace_handles
from orchestrator.core.received_files import ReceivedFile
from orchestrator.core.record import JsonObject


class HeldValue(Protocol):
    """One value of a personal field."""

    @property
    def value(self) -> str:
        """What is sent."""
        ...

    @property
    def scope(self) -> str:
        """The mission that brought it; empty: it belongs to the vault's owner."""
        ...


class PersonalValues(Protocol):
    """Where the values of personal fields are."""

    def current(self, field: str) -> Handle | None:
        """The handle, with its version, of the owner's current value; None without one."""
        ...

    def find(self, handle: Handle) -> HeldValue | None:
        """The one value that a handle with a version means; None when it is not there."""
        ...


_WHO: Final = ("name", "email")
"""Personal values that tell who somebody is."""


@dataclass(frozen=True)
class PinnedArguments:
    """Arguments whose handles mean one value each, or why they do not yet."""

    arguments: JsonObject
    missing: tuple[str, ...] = ()
    """Fields of which nobody has stored a value."""
    gone: tuple[str, ...] = ()
    """Fields of which one exact value is meant that the vault does not hold."""
    foreign: tuple[str, ...] = ()
    """Fields of which the value of another mission is meant."""
    files: tuple[ReceivedFile, ...] = ()
    """Those whose handles stand in them."""
    unsendable: tuple[str, ...] = ()
    """Why files that are meant cannot be sent, a sentence each."""
    people: tuple[str, ...] = field(default=(), repr=False)
    """What those are called whose values they are: compared where it is read, and kept nowhere."""


def pin_arguments(
    arguments: JsonObject,
    handles: Sequence[Handle],
    values: PersonalValues,
    *,
    mission_id: str,
    brought: Collection[Handle] = (),
) -> PinnedArguments:
    """The arguments with a version in every handle.

    Args:
        arguments: of a call.
        handles: those of its personal fields that stand in them.
        values: the vault.
        mission_id: whose call it is.
        brought: what the mission was started with; it comes before what the owner has.
    """
    own = {handle.field: handle for handle in brought if handle.version}
    meant = {h: h if h.version else own.get(h.field) or values.current(h.field) for h in handles}
    missing = {h.field for h, exact in meant.items() if exact is None}
    exact = {h: e for h, e in meant.items() if e is not None}
    held = {e: values.find(e) for e in exact.values()}
    gone = {e.field for e, found in held.items() if found is None}
    allowed = ("", mission_id)
    foreign = {e.field for e, found in held.items() if found and found.scope not in allowed}
    if missing or gone or foreign:
        return PinnedArguments(
            arguments,
            missing=tuple(sorted(missing)),
            gone=tuple(sorted(gone)),
            foreign=tuple(sorted(foreign)),
        )
    fields = {handle.field for handle in exact}
    replaced = {name: _pinned(value, fields, exact) for name, value in arguments.items()}
    return PinnedArguments(replaced, people=person_names(exact.values(), values))


def read_values(
    tool: str, handles: Sequence[Handle], values: PersonalValues, *, mission_id: str
) -> dict[Handle, str]:
    """The values that a call carries, by its handles.

    A handle without a version means the owner's current value.

    Raises:
        PiiMissing: names all fields of which there is no value, so that they can be stored at once.
        PiiGone: the vault does not hold the very value that is meant.
        ArgumentsInvalid: a value is another mission's.
    """
    pinned = pin_arguments({}, handles, values, mission_id=mission_id)
    if pinned.missing:
        raise PiiMissing(pinned.missing)
    if pinned.gone:
        raise PiiGone(pinned.gone)
    if pinned.foreign:
        raise ArgumentsInvalid(tool, foreign_problems(pinned.foreign))
    found = {}
    for handle in handles:
        exact = handle if handle.version else values.current(handle.field)
        held = values.find(exact) if exact is not None else None
        if held is None:  # removed just now
            raise PiiGone((handle.field,))
        found[handle] = held.value
    return found


def person_names(handles: Iterable[Handle], values: PersonalValues) -> tuple[str, ...]:
    """What the people are called, and where mail reaches them, whom personal values are of.

    As far as the vault holds it: what is sent itself, or is stored beside what is: of `traveler_id`
    that is `traveler_name` and `traveler_email`.
    """
    found = []
    for handle in handles:
        person, _, own = handle.field.rpartition("_")
        for what in _WHO:
            exact = values.current(f"{person}_{what}") if person else None
            exact = handle if own == what and handle.version else exact
            held = values.find(exact) if exact is not None else None
            found += [held.value] if held is not None else []
    return tuple(found)


def foreign_problems(fields: Sequence[str]) -> tuple[str, ...]:
    """A sentence for each field of which the value of another mission was named."""
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
