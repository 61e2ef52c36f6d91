"""`orchestrator pii`, `keys` and `copy-store`: personal values, keys, and the store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.options import new_app
from orchestrator.cli.output import AsJson, console, present, print_json, progress, write_new
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.adapters.storage.personal_values import PiiVault
    from orchestrator.client.store_copying import CopiedStore
    from orchestrator.core.record import JsonObject

pii_app = new_app(no_args_is_help=True)
keys_app = new_app(no_args_is_help=True)
copy_store_app = new_app()

_PLACE = "A folder with a store.db, a URL, or a file that holds a URL"


def _vault() -> "PiiVault":
    from orchestrator.client.stores import open_vault
    from orchestrator.settings import load_settings

    return open_vault(load_settings())


@pii_app.command("set")
def set_field(
    name: Annotated[str, typer.Argument(help="The field, e.g. traveler_name.")],
    value: Annotated[
        str, typer.Option(prompt=True, hide_input=True, help="Asked for when left out.")
    ],
) -> None:
    """Store a personal value; it is asked for, to keep it out of your shell's history.

    Calls that are prepared already keep the value of their preparation.

    Example: orchestrator pii set traveler_name
    """
    _vault().put(name, value)
    console.print(line(f"stored {name}"))


@pii_app.command("list")
def list_fields(as_json: AsJson = False) -> None:
    """List the fields that have a value, and those that missions brought.

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
def forget(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The field.")] = None,
    mission_id: Annotated[
        str | None,
        typer.Option("--mission", metavar="ID", help="What this mission brought and received."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also while the mission or its rollback is open."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a personal value and its earlier versions, or all that a mission brought.

    A call that was prepared with one of them is not sent any more, and its rollback parks. Of a
    mission the answers that it received go too.

    Example: orchestrator pii forget traveler_phone

    Example: orchestrator pii forget --mission trip-1a2b3c
    """
    if (name is None) == (mission_id is None):
        raise UsageError("name the field to forget, or --mission ID")
    if name is not None:
        had = _vault().forget(name)
        if as_json:
            print_json({"removed": [name] if had else []})
        else:
            console.print(line(f"forgot {name}" if had else f"nothing is kept of {name}"))
        return
    removed = ask(lambda client: client.purge_personal(str(mission_id), force=force))
    if as_json:
        print_json({"mission_id": mission_id, "removed": list(removed)})
        return
    fields = ", ".join(removed) or "no personal value, for none is kept,"
    console.print(line(f"removed {fields} of {mission_id}, and the answers it received"))


@copy_store_app.command()
def copy_store(
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
    """Copy the store of workers to another, such as PostgreSQL.

    Stop all workers and clients before, and start none on the old store again: a grant that is used
    there would be unknown in the new one. Begun again, it goes on; what is there already stays, and
    where it is something else, nothing is copied. A URL with a password is better in a file.

    Example: orchestrator copy-store --from ~/.orchestrator --to store.url
    """
    from orchestrator.client.store_copying import copy_between
    from orchestrator.settings import load_settings

    copied = copy_between(source, target, load_settings())
    present(copied, _draw_copied, as_json=as_json)
    if copied.needs_vault_key:
        key = (
            "personal values are sealed as before: give every worker and client the key of "
            f"{copied.source} (of a SQLite store: its file pii/pii.key) in "
            "ORCHESTRATOR_PII_KEY_FILE"
        )
        progress.print(line(key))


def _draw_copied(on: Console, copied: "CopiedStore") -> None:
    table = table_of("what", "copied", "there before")
    for one in copied.parts:
        if one.copied or one.present:
            table.add_row(one.part, f"{one.copied:,}", f"{one.present:,}")
    on.print(table)
    on.print(line(f"{copied.target} holds all that {copied.source} holds"))


@keys_app.command("new")
def new_key(
    kind: Annotated[
        Literal["approval", "payload", "vault"],
        typer.Argument(help="Of one approver, of what is recorded, or of personal values."),
    ],
    file: Annotated[Path, typer.Argument(help="Where it is written; payload keys are added.")],
    key_id: Annotated[
        str | None, typer.Option("--id", help="Of a payload key: its name, for all to read.")
    ] = None,
    approver: Annotated[
        str, typer.Option(help="Of an approval key: the one person it signs for.")
    ] = "",
    issuer: Annotated[
        str, typer.Option(help="Of an approval key: who vouches for them: a name or URL.")
    ] = "",
) -> None:
    """Make a key, in a file for your eyes only.

    approval: a key pair for one person; the public key is printed, for the key set of workers.
    vault: the key of a vault that does not exist yet. payload: added after those in use, it
    decrypts, and does not encrypt before `keys use`; give the file to all workers and clients.

    Example: orchestrator keys new approval ann.jwk --approver ann@example.com --issuer example.com

    Example: orchestrator keys new vault vault.key

    Example: orchestrator keys new payload payload.keys --id 2026-12
    """
    if kind == "approval":
        print_json(make_key(file, approver=approver, issuer=issuer))
    elif kind == "vault":
        _new_vault_key(file)
    else:
        _new_payload_key(key_id or "", file)


def make_key(file: Path, *, approver: str, issuer: str) -> "JsonObject":
    """Write a new private key to a file; return the public key."""
    for option, name in (("--approver", approver), ("--issuer", issuer)):
        if not (name.strip() and name.isprintable()):
            raise UsageError(f"{option} is a name of printable characters")
    from orchestrator.adapters.approval_keys import write_signing_key
    from orchestrator.confirmation.signatures import SigningKey

    private, public = SigningKey.generate(issuer=issuer, subject=approver)
    write_signing_key(file, json.dumps(private))
    return public


def _new_vault_key(file: Path) -> None:
    from orchestrator.adapters.storage import personal_values

    write_new(file, f"{personal_values.new_key()}\n".encode())
    use = f"export ORCHESTRATOR_PII_KEY_FILE={file.absolute()}"
    console.print(line(f"wrote {file}; use it with: {use}"))


def _new_payload_key(key_id: str, file: Path) -> None:
    from orchestrator.adapters.temporal import payload_keys

    keys = _read_keys(file) if file.exists() else []
    if not payload_keys.is_key_id(key_id):
        raise UsageError(
            f"--id {key_id!r} is no id of a key: letters, digits, '-', '_' and '.', 64 at most"
        )
    if key_id in dict(keys):
        raise UsageError(f"{file} holds a key {key_id!r} already; choose another id")
    _write_keys(file, [*keys, (key_id, payload_keys.new_payload_key())])
    does = "encrypts and decrypts" if not keys else "decrypts; `keys use` makes it encrypt"
    progress.print(f"{file}: the key {key_id!r} {does}")


@keys_app.command("use")
def use_payload_key(
    file: Annotated[Path, typer.Argument(help="ORCHESTRATOR_PAYLOAD_KEYS_FILE.")],
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The payload key's name.")],
) -> None:
    """Encrypt with a payload key from now on; the others still decrypt.

    Example: orchestrator keys use payload.keys 2026-12
    """
    keys = _read_keys(file)
    if key_id not in dict(keys):
        raise UsageError(f"{file} holds no key {key_id!r}; it holds {', '.join(dict(keys))}")
    _write_keys(file, sorted(keys, key=lambda key: key[0] != key_id))
    progress.print(f"{file}: the key {key_id!r} encrypts, once workers and clients are restarted")


@keys_app.command("list")
def list_keys(
    used: Annotated[
        bool,
        typer.Option(
            "--used", help="Those that histories and schedules need; reads all of the server."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the payload keys of this process, the one that encrypts first.

    With --used, those that the server's workflows and schedules need: another can be removed. On a
    large namespace that takes a while.

    Example: orchestrator keys list --used
    """
    if used:
        _list_used(as_json=as_json)
        return
    from orchestrator.client.payloads import payload_keys_of
    from orchestrator.settings import load_settings

    ids = payload_keys_of(load_settings()).ids
    if as_json:
        print_json([{"id": key_id, "encrypts": n == 0} for n, key_id in enumerate(ids)])
        return
    for n, key_id in enumerate(ids):
        console.print(f"{key_id}  {'encrypts' if n == 0 else 'decrypts'}")
    if not ids:
        progress.print("no payload keys are set: nothing is encrypted")


def _list_used(*, as_json: bool) -> None:
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
    """Return the keys of a file without its comments."""
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
