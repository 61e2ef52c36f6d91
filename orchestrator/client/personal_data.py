"""Personal data on the client's side: what a start brings."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.core.errors import UsageError
from orchestrator.core.pii import Handle, handle_of
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk

if TYPE_CHECKING:
    from orchestrator.adapters.storage.pii_vault import PiiVault
    from orchestrator.catalog.catalog import Catalog


@dataclass(frozen=True)
class BroughtInputs:
    """The inputs of a start as they may enter history, and the values that stay behind."""

    inputs: JsonObject
    values: dict[str, str]
    """Of personal fields, to be kept for the mission."""
    undeclared: tuple[str, ...]
    """Inputs that no tool of the catalog takes."""


def separate_personal(
    inputs: JsonObject,
    catalog: "Catalog",
    vault: "PiiVault",
    *,
    mission_id: str,
    pins: bool = True,
) -> BroughtInputs:
    """The inputs with a handle for each personal value; nothing is kept yet.

    Without `pins`, handles say nothing of the values, and no key of the vault is needed or made.

    Raises:
        UsageError: an input that no tool takes looks personal or like the name of a personal field,
            a handle means another mission's value, or a file cannot be read that may say what is
            personal.
    """
    if catalog.unread:
        told = "; ".join(map(str, catalog.unread))
        raise UsageError(f"which inputs are personal cannot be told: {told}")
    personal = {name for tool in catalog.tools.values() for name in tool.pii_fields}
    undeclared = tuple(sorted(set(inputs) - personal - declared_inputs(catalog)))
    # What only a skipped operation takes is no less personal for that.
    personal |= {name for operation in catalog.skipped for name in operation.personal}
    for name in sorted({*undeclared} - personal):
        _check_undeclared(name, inputs, personal)
    handles = {name: handle for name, v in inputs.items() if (handle := handle_of(v)) is not None}
    for name, handle in handles.items():
        _check_handle(name, handle, vault, mission_id)
    values = {
        name: _as_text(name, inputs[name]) for name in personal & set(inputs) - handles.keys()
    }
    pinned = {name: Handle(name) for name in values}
    if pins and values:
        pinned = vault.handles_of(mission_id, values)
    kept = {**inputs, **{name: str(handle) for name, handle in pinned.items()}}
    return BroughtInputs(kept, values, undeclared)


def declared_inputs(catalog: "Catalog") -> frozenset[str]:
    """The names of all that the tools of a catalog take, at any depth."""
    return frozenset(
        name
        for tool in catalog.tools.values()
        for schema in walk(tool.input_schema)
        for name in properties_of(schema)
    )


def _check_undeclared(name: str, inputs: JsonObject, personal: Iterable[str]) -> None:
    """Refuse what would be kept in the open and is likely a person's.

    Raises:
        UsageError: its name or value looks personal, or its name is nearly a personal field's.
    """
    from orchestrator.core.personal_look import personal_look  # loads tables of phone numbers

    near = next((field for field in sorted(personal) if _is_near(name, field)), None)
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


def _is_near(name: str, field: str) -> bool:
    from rapidfuzz.distance import DamerauLevenshtein

    most = 1 if len(field) < 6 else 2
    plain, wanted = (text.lower().replace("-", "_") for text in (name, field))
    return DamerauLevenshtein.distance(plain, wanted, score_cutoff=most) <= most


def _check_handle(name: str, handle: Handle, vault: "PiiVault", mission_id: str) -> None:
    held = vault.find(handle) if handle.version else None
    if held is not None and held.scope not in ("", mission_id):
        raise UsageError(
            f"{name} names a value that the mission {held.scope} was started with; "
            f"give the value, or {Handle(handle.field)} for the vault's own"
        )


def _as_text(name: str, value: object) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{name} is a personal field: give its value as text, or its handle")
