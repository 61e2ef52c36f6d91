"""`orchestrator pii` and `keys`: personal values, and keys."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.asking import ask
from orchestrator.cli.options import new_app, read_duration
from orchestrator.cli.output import AsJson, console, line, print_json, progress, write_new
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.adapters.storage.sql_vault import SqlVault
    from orchestrator.core.record import JsonObject
    from orchestrator.web.people import Right

pii_app = new_app(no_args_is_help=True)
keys_app = new_app(no_args_is_help=True)


def _vault() -> "SqlVault":
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
    service: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="In place of both: the key of the service at this URL, which signs for all.",
        ),
    ] = "",
) -> None:
    """Make a key, in a file for your eyes only.

    approval: a key pair for one person; the public key is printed, for the key set of workers.
    vault: the key of a vault that does not exist yet. payload: added after those in use, it
    decrypts, and encrypts when its line is the first; give the file to all workers and clients.

    Example: orchestrator keys new approval ann.jwk --approver ann@example.com --issuer example.com

    Example: orchestrator keys new approval service.jwk --service https://missions.example.com

    Example: orchestrator keys new vault vault.key

    Example: orchestrator keys new payload payload.keys --id 2026-12
    """
    if kind == "approval":
        if service and (approver or issuer):
            raise UsageError("--service takes the place of --approver and --issuer: choose")
        made = (
            make_service_key(file, service)
            if service
            else make_key(file, approver=approver, issuer=issuer)
        )
        print_json(made)
    elif kind == "vault":
        _new_vault_key(file)
    else:
        _new_payload_key(key_id or "", file)


def make_key(file: Path, *, approver: str, issuer: str) -> "JsonObject":
    """Write a new private key to a file; return the public key."""
    for option, name in (("--approver", approver), ("--issuer", issuer)):
        if not (name.strip() and name.isprintable()):
            raise UsageError(f"{option} is a name of printable characters")
    return _new_approval_key(file, issuer=issuer, subject=approver)


def make_service_key(file: Path, url: str) -> "JsonObject":
    """Write a new private key of the service at a URL to a file; return the public key."""
    if not url.startswith(("https://", "http://")):
        raise UsageError("--service is the URL of the service, as its file says it")
    return _new_approval_key(file, issuer=url.rstrip("/").lower(), subject="")


def _new_approval_key(file: Path, *, issuer: str, subject: str) -> "JsonObject":
    from orchestrator.adapters.approval_keys import write_signing_key
    from orchestrator.confirmation.signatures import SigningKey

    private, public = SigningKey.generate(issuer=issuer, subject=subject)
    write_signing_key(file, json.dumps(private))
    return public


def _new_vault_key(file: Path) -> None:
    from orchestrator.adapters.storage import sql_vault

    write_new(file, f"{sql_vault.new_key()}\n".encode())
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
    does = "encrypts and decrypts" if not keys else "decrypts; moved to the first line, it encrypts"
    progress.print(f"{file}: the key {key_id!r} {does}")


def _read_keys(file: Path) -> list[tuple[str, str]]:
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


@keys_app.command("token")
def new_token(
    subject: Annotated[
        str, typer.Option("--for", metavar="NAME", help="Its requests are recorded as this name's.")
    ],
    scopes: Annotated[
        list[str],
        typer.Option(
            "--scope", help="A right: read, start, decide, operate, administer; may be repeated."
        ),
    ],
    expires: Annotated[str, typer.Option(help="How long it is valid, such as 12h or 30d.")] = "30d",
    sees_all: Annotated[
        bool, typer.Option("--sees-all", help="Missions of everybody, and not only its own.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an API token for `orchestrator serve`; it is printed this once.

    The store keeps a digest of it; the HTTP API lists and revokes tokens. Who can run this command
    with the store of the workers can give any right in any name.

    Example: orchestrator keys token --for ci@example.com --scope read --scope start --expires 30d
    """
    from orchestrator.client.stores import store_of
    from orchestrator.settings import load_settings
    from orchestrator.web.api.tokens import create
    from orchestrator.web.sign_in.identity import utc_now

    with store_of(load_settings()) as store:
        made = create(
            store,
            subject=subject,
            scopes=[_right(scope) for scope in scopes],
            lifetime=read_duration(expires, "--expires"),
            sees_all=sees_all,
            created_by="orchestrator keys token",
            now=utc_now(),
        )
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    console.print(made.token, soft_wrap=True, highlight=False, markup=False)
    rights = ", ".join(made.scopes) + (" of everybody's missions" if made.sees_all else "")
    ends = f"{made.expires_at:%Y-%m-%d %H:%M} UTC"
    progress.print(line(f"token {made.token_id} of {made.subject}: {rights}, until {ends}"))


def _right(name: str) -> "Right":
    from orchestrator.web.people import Right

    try:
        return Right(name)
    except ValueError:
        raise UsageError(f"--scope {name!r}: name one of {', '.join(Right)}") from None
