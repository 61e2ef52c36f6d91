"""`orchestrator pii`, `store` and `payload-keys`: personal values, what workers keep, and keys."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.output import AsJson, console, present, print_json, progress
from orchestrator.core.errors import UsageError
from orchestrator.settings import load_settings

if TYPE_CHECKING:  # they import a database library
    from orchestrator.adapters.storage.pii_vault import PiiVault
    from orchestrator.client.store_copying import CopiedStore

pii_app = typer.Typer(add_completion=False, no_args_is_help=True)
store_app = typer.Typer(add_completion=False, no_args_is_help=True)
payload_keys_app = typer.Typer(add_completion=False, no_args_is_help=True)

_PLACE = "A folder with a store.db, a URL, or a file that holds a URL"
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's name, for all to read.")]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="ORCHESTRATOR_PAYLOAD_KEYS_FILE.")]


def _vault() -> "PiiVault":
    from orchestrator.client.stores import open_vault

    return open_vault(load_settings())


@pii_app.command("set")
def set_field(
    name: Annotated[str, typer.Argument(help="The field, e.g. traveler_name.")],
    value: Annotated[
        str, typer.Option(prompt=True, hide_input=True, help="Asked for when left out.")
    ],
) -> None:
    """Store a value; it is asked for, so that it stays out of your shell's history.

    Calls that were prepared before keep the value that they were prepared with.

    Example: orchestrator pii set traveler_name
    """
    _vault().put(name, value)
    console.print(line(f"stored {name}"))


@pii_app.command("list")
def list_fields(as_json: AsJson = False) -> None:
    """Names of the fields that have a value, and of those that missions brought.

    Example: orchestrator pii list
    """
    held = _vault().contents()
    brought = {m: sorted({kept.field for kept in v}) for m, v in sorted(held.missions().items())}
    if as_json:
        print_json({"fields": list(held.fields()), "missions": brought})
        return
    for name in held.fields():
        console.print(line(name))
    for mission_id, names in brought.items():
        console.print(line(f"{', '.join(names)}  (brought by {mission_id})"))


@pii_app.command()
def forget(name: Annotated[str, typer.Argument(help="The field.")]) -> None:
    """Delete a value, and all that were stored in its place before.

    A call that was prepared with one of them is not sent any more, and its rollback parks.

    Example: orchestrator pii forget traveler_phone
    """
    had = _vault().forget(name)
    console.print(line(f"forgot {name}" if had else f"nothing is kept of {name}"))


@pii_app.command()
def purge(
    mission_id: Annotated[str, typer.Argument(metavar="MISSION", help="The mission's id.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also while the mission or its rollback is open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete the values that a mission brought with its start, and what it has seen.

    Example: orchestrator pii purge trip-1a2b3c
    """
    removed = ask(lambda client: client.purge_personal(mission_id, force=force))
    if as_json:
        print_json({"mission_id": mission_id, "removed": list(removed)})
        return
    fields = ", ".join(removed) or "no personal value, for none is kept,"
    console.print(line(f"removed {fields} of {mission_id}, and what it has seen"))


@pii_app.command("new-key")
def make_key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where it is written.")],
) -> None:
    """Write a new key, for a vault that does not exist yet, into a file for your eyes only.

    Example: orchestrator pii new-key vault.key
    """
    from orchestrator.adapters.storage.files import create_file
    from orchestrator.adapters.storage.vault_key import new_key

    try:
        is_new = create_file(path, f"{new_key()}\n".encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    if not is_new:
        raise UsageError(f"{path} exists; a key in it may open a vault: choose another name")
    use = f"export ORCHESTRATOR_PII_KEY_FILE={path.absolute()}"
    console.print(line(f"wrote {path}; use it with: {use}"))


@store_app.callback()
def store() -> None:
    """Copy what workers keep outside of histories to another store."""


@store_app.command()
def copy(
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="PLACE", help=f"{_PLACE}; default: the state directory."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--to", metavar="PLACE", help="The same; default: as the settings name it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy all that one store holds to another, as a move from a file to PostgreSQL needs.

    Stop all workers and clients before, and start none on the old store again: a grant that is used
    there would be unknown in the new one. Begun again, it goes on; what is there already stays, and
    where it is something else, nothing is copied. A URL with a password is better in a file.

    Example: orchestrator store copy --from ~/.orchestrator --to store.url
    """
    from orchestrator.client.store_copying import copy_between

    copied = copy_between(source, target, load_settings())
    present(copied, _draw_copied, as_json=as_json)
    if copied.lacks_vault_key:
        key = (
            "personal values are sealed as before: give every worker and client the key of "
            f"{copied.source} (of a SQLite store: its file pii/pii.key) in "
            "ORCHESTRATOR_PII_KEY_FILE"
        )
        progress.print(line(key))


def _draw_copied(on: Console, copied: "CopiedStore") -> None:
    """How many of each kind were copied, and how many were there."""
    table = table_of("what", "copied", "there before")
    for one in copied.parts:
        if one.copied or one.present:
            table.add_row(one.part, f"{one.copied:,}", f"{one.present:,}")
    on.print(table)
    on.print(line(f"{copied.target} holds all that {copied.source} holds"))


@payload_keys_app.command("new")
def new_payload_key(key_id: KeyId, file: KeyFile) -> None:
    """Add a key to a file, behind those in use: it decrypts, and does not encrypt yet.

    Give the file to all workers and clients; then: orchestrator payload-keys use ID FILE

    Example: orchestrator payload-keys new 2026-12 payload.keys
    """
    from orchestrator.adapters.temporal import payload_keys

    keys = _read_keys(file) if file.exists() else []
    if not payload_keys.is_key_id(key_id):
        raise UsageError(
            f"{key_id!r} is no id of a key: letters, digits, '-', '_' and '.', 64 at most"
        )
    if key_id in dict(keys):
        raise UsageError(f"{file} holds a key {key_id!r} already; choose another id")
    _write_keys(file, [*keys, (key_id, payload_keys.new_payload_key())])
    does = "encrypts and decrypts" if not keys else "decrypts; payload-keys use makes it encrypt"
    progress.print(f"{file}: the key {key_id!r} {does}")


@payload_keys_app.command("use")
def use_payload_key(key_id: KeyId, file: KeyFile) -> None:
    """Encrypt with a key from now on; all others go on decrypting.

    Example: orchestrator payload-keys use 2026-12 payload.keys
    """
    keys = _read_keys(file)
    if key_id not in dict(keys):
        raise UsageError(f"{file} holds no key {key_id!r}; it holds {', '.join(dict(keys))}")
    _write_keys(file, sorted(keys, key=lambda key: key[0] != key_id))
    progress.print(f"{file}: the key {key_id!r} encrypts, once workers and clients are restarted")


@payload_keys_app.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """The ids of the keys that this process has, the one that encrypts first.

    Example: orchestrator payload-keys list
    """
    from orchestrator.client.payloads import payload_keys_of

    ids = payload_keys_of(load_settings()).ids
    if as_json:
        print_json([{"id": key_id, "encrypts": n == 0} for n, key_id in enumerate(ids)])
        return
    for n, key_id in enumerate(ids):
        console.print(f"{key_id}  {'encrypts' if n == 0 else 'decrypts'}")
    if not ids:
        progress.print("no payload keys are set: nothing is encrypted")


@payload_keys_app.command("used")
def used_keys(as_json: AsJson = False) -> None:
    """What needs each key: a key that no workflow and no schedule needs can be taken away.

    Reads every history that the server keeps; on a large namespace that takes a while.

    Example: orchestrator payload-keys used
    """
    from orchestrator.messages.names import schedule_id_of

    found = ask(lambda client: client.payload_key_use())
    if as_json:
        print_json([one.model_dump() for one in found])
        return
    for one in found:
        name = repr(one.key_id) if one.key_id else "no key (not encrypted)"
        named = ", ".join(schedule_id_of(schedule) or schedule for schedule in one.schedules)
        schedules = f", schedules: {named}" if named else ""
        console.print(f"{name}: {one.open} open, {one.closed} closed{schedules}")
    if not found:
        progress.print("the server keeps no missions")


def _read_keys(file: Path) -> list[tuple[str, str]]:
    """The keys of a file as they are written; remarks are not kept."""
    from base64 import urlsafe_b64encode

    from orchestrator.adapters.temporal.payload_keys import read_payload_keys

    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{file} cannot be read") from None
    keys = read_payload_keys(text, str(file))
    return [(key_id, urlsafe_b64encode(key).decode()) for key_id, key in keys.items()]


def _write_keys(file: Path, keys: list[tuple[str, str]]) -> None:
    from orchestrator.adapters.storage.files import replace_file

    lines = ["# Payload keys: the first encrypts, each of them decrypts.\n"]
    try:
        replace_file(file, "".join([*lines, *(f"{i}:{k}\n" for i, k in keys)]).encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
