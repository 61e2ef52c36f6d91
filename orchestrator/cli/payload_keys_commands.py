"""`orchestrator payload-keys`: the keys that encrypt what is recorded in Temporal."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.connected import ask
from orchestrator.cli.output import AsJson, console, print_json, progress
from orchestrator.core.errors import UsageError

app = typer.Typer(add_completion=False, no_args_is_help=True)
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's name, for all to read.")]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="ORCHESTRATOR_PAYLOAD_KEYS_FILE.")]


@app.command()
def new(key_id: KeyId, file: KeyFile) -> None:
    """Add a key to a file, behind those in use: it decrypts, and does not encrypt yet.

    Give the file to all workers and clients; then: orchestrator payload-keys use ID FILE
    """
    from orchestrator.adapters.temporal.payload_keys import is_key_id, new_payload_key

    keys = _read(file) if file.exists() else []
    if not is_key_id(key_id):
        raise UsageError(
            f"{key_id!r} is no id of a key: letters, digits, '-', '_' and '.', 64 at most"
        )
    if key_id in dict(keys):
        raise UsageError(f"{file} holds a key {key_id!r} already; choose another id")
    _write(file, [*keys, (key_id, new_payload_key())])
    does = "encrypts and decrypts" if not keys else "decrypts; payload-keys use makes it encrypt"
    progress.print(f"{file}: the key {key_id!r} {does}")


@app.command()
def use(key_id: KeyId, file: KeyFile) -> None:
    """Encrypt with a key from now on; all others go on decrypting."""
    keys = _read(file)
    if key_id not in dict(keys):
        raise UsageError(f"{file} holds no key {key_id!r}; it holds {', '.join(dict(keys))}")
    _write(file, sorted(keys, key=lambda key: key[0] != key_id))
    progress.print(f"{file}: the key {key_id!r} encrypts, once workers and clients are restarted")


@app.command(name="list")
def list_keys(as_json: AsJson = False) -> None:
    """The ids of the keys that this process has, the one that encrypts first."""
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


@app.command()
def used(as_json: AsJson = False) -> None:
    """What needs each key: a key that no workflow and no schedule needs can be taken away.

    Reads every history that the server keeps; on a large namespace that takes a while.
    """
    found = ask(lambda client: client.payload_key_use())
    if as_json:
        print_json([one.model_dump() for one in found])
        return
    for one in found:
        name = repr(one.key_id) if one.key_id else "no key (not encrypted)"
        console.print(f"{name}: {one.open} open, {one.closed} closed{_schedules(one.schedules)}")
    if not found:
        progress.print("the server keeps no missions")


def _schedules(ids: tuple[str, ...]) -> str:
    """Which schedules need it: missions by the names that their commands take."""
    from orchestrator.messages.names import schedule_id_of

    named = [schedule_id_of(one) or one for one in ids]
    return f", schedules: {', '.join(named)}" if named else ""


def _read(file: Path) -> list[tuple[str, str]]:
    """The keys of a file as they are written; remarks are not kept."""
    from orchestrator.adapters.temporal.payload_keys import read_payload_keys

    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{file} cannot be read") from None
    from base64 import urlsafe_b64encode

    keys = read_payload_keys(text, str(file))
    return [(key_id, urlsafe_b64encode(key).decode()) for key_id, key in keys.items()]


def _write(file: Path, keys: list[tuple[str, str]]) -> None:
    from orchestrator.adapters.storage.files import replace_file

    lines = ["# Payload keys: the first encrypts, each of them decrypts.\n"]
    try:
        replace_file(file, "".join([*lines, *(f"{i}:{k}\n" for i, k in keys)]).encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
