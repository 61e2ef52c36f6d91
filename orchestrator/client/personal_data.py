"""Separates personal values from the inputs of a start, to keep them out of histories."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.core.errors import UsageError
from orchestrator.core.pii import Handle, handle_of
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk

if TYPE_CHECKING:
    from orchestrator.adapters.storage.sql_vault import SqlVault
    from orchestrator.catalog.catalog import Catalog


@dataclass(frozen=True)
class BroughtInputs:
    """The inputs of a start as they may enter history, and the values for the vault."""

    inputs: JsonObject
    values: dict[str, str]
    """Values of personal fields, to be stored for the mission."""
    undeclared: tuple[str, ...]
    """Inputs that no tool of the catalog takes."""


def separate_personal(
    inputs: JsonObject, catalog: "Catalog", vault: "SqlVault", *, mission_id: str, pins: bool = True
) -> BroughtInputs:
    """Return the inputs with a handle for each personal value; nothing is stored yet.

    Without `pins`, handles reveal nothing of the values, and no key of the vault is needed or made.

    Raises:
        UsageError: an input that no tool takes looks personal or like the name of a personal field,
            a handle refers to another mission's value, or a file that may declare personal fields
            cannot be read.
    """
    if catalog.unread:
        unread = "; ".join(map(str, catalog.unread))
        raise UsageError(f"the personal inputs are unknown, since a file is unreadable: {unread}")
    personal = {name for tool in catalog.tools.values() for name in tool.pii_fields}
    declared = {
        name
        for tool in catalog.tools.values()
        for schema in walk(tool.input_schema)
        for name in properties_of(schema)
    }
    undeclared = tuple(sorted(set(inputs) - personal - declared))
    # A field that only a skipped operation declares is personal too.
    personal |= {name for operation in catalog.skipped for name in operation.personal}
    for name in sorted({*undeclared} - personal):
        _check_undeclared(name, inputs, personal)
    handles = {name: handle for name, v in inputs.items() if (handle := handle_of(v)) is not None}
    for name, handle in handles.items():
        held = vault.find(handle) if handle.version else None
        if held is not None and held.scope not in ("", mission_id):
            raise UsageError(
                f"{name} names a value that the mission {held.scope} was started with; "
                f"give the value, or {Handle(handle.field)} for the vault's own"
            )
    values: dict[str, str] = {}
    for name in personal & set(inputs) - handles.keys():
        value = inputs[name]
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise UsageError(f"{name} is a personal field: give its value as text, or its handle")
        values[name] = str(value)
    pinned = {name: Handle(name) for name in values}
    if pins and values:
        pinned = vault.handles_of(mission_id, values)
    kept = {**inputs, **{name: str(handle) for name, handle in pinned.items()}}
    return BroughtInputs(kept, values, undeclared)


def _check_undeclared(name: str, inputs: JsonObject, personal: Iterable[str]) -> None:
    """Refuse an input whose name or value looks personal, as it would be recorded unencrypted."""
    from rapidfuzz.distance import DamerauLevenshtein

    from orchestrator.core.personal_look import personal_look  # loads tables of phone numbers

    near = None
    for field in sorted(personal):
        most = 1 if len(field) < 6 else 2
        plain, wanted = (text.lower().replace("-", "_") for text in (name, field))
        if DamerauLevenshtein.distance(plain, wanted, score_cutoff=most) <= most:
            near = field
            break
    named, look = personal_look(name), personal_look(inputs[name])
    if not near and not named and not look:
        return
    which = "one of the inputs" if named else f"an input {name!r}"
    why = f"its value looks like {look}" if look else f"it reads like the personal field {near}"
    if named:
        why = f"its name looks like {named}"
    hint = f"did you mean {near}? Name" if near else "name"
    raise UsageError(
        f"no tool takes {which}, and {why}, so it would be kept in histories in the "
        f"open; {hint} the input that a tool takes, and let its document list it in "
        "x-orchet-pii-required"
    )
