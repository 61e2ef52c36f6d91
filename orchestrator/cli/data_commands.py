"""`orchestrator pii`, `key` and `token`: personal values, keys, and tokens of the HTTP API."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import new_app, read_duration
from orchestrator.cli.output import AsJson, ask, console, line, print_json, progress, write_new
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.adapters.storage.sql_vault import SqlVault
    from orchestrator.core.record import JsonObject
    from orchestrator.web.people import Right

pii_app, key_app, token_app = new_app(), new_app(), new_app()


def _vault() -> "SqlVault":
    from orchestrator.client.stores import open_vault
    from orchestrator.settings import load_settings

    return open_vault(load_settings())


@pii_app.command()
def pii(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The field, e.g. traveler_name.")
    ] = None,
    value: Annotated[str | None, typer.Option(help="Asked for when left out.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete the field's value and its earlier versions.")
    ] = False,
    mission_id: Annotated[
        str | None,
        typer.Option("--mission", metavar="ID", help="With --forget: all that it brought."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also while the mission or its rollback is open."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Store, list and forget personal values in the encrypted vault.

    The value is asked for, to keep it out of your shell's history; calls that are prepared already
    keep the value of their preparation. Without a name, the fields that have a value are listed,
    and those that missions brought.

    A call that was prepared with a forgotten value is not sent any more, and its rollback parks. Of
    a mission the answers that it received go too.

    Example: orchestrator pii traveler_name

    Example: orchestrator pii traveler_phone --forget

    Example: orchestrator pii --forget --mission trip-1a2b3c
    """
    if mission_id is not None or force:
        if name is not None or not forget or mission_id is None:
            raise UsageError("--mission ID and --force go with --forget, without a name")
        _forget_mission(mission_id, force=force, as_json=as_json)
    elif name is None:
        if forget or value is not None:
            raise UsageError("name the field; to forget, also: --mission ID")
        _list_fields(as_json=as_json)
    elif forget:
        had = _vault().forget(name)
        said = f"forgot {name}" if had else f"nothing is kept of {name}"
        _say({"removed": [name] if had else []}, said, as_json=as_json)
    else:
        _vault().put(name, typer.prompt("Value", hide_input=True) if value is None else value)
        _say({"stored": name}, f"stored {name}", as_json=as_json)


def _say(document: "JsonObject", text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        console.print(line(text))


def _list_fields(*, as_json: bool) -> None:
    held = _vault().contents()
    brought = {m: sorted({kept.field for kept in v}) for m, v in sorted(held.missions().items())}
    if as_json:
        print_json({"fields": list(held.fields()), "missions": brought})
        return
    for name in held.fields():
        console.print(line(name))
    for mission_id, names in brought.items():
        console.print(line(f"{', '.join(names)}  (brought by {mission_id})"))


def _forget_mission(mission_id: str, *, force: bool, as_json: bool) -> None:
    removed = ask(lambda client: client.purge_personal(mission_id, force=force))
    fields = ", ".join(removed) or "no personal value, for none is kept,"
    said = f"removed {fields} of {mission_id}, and the answers it received"
    _say({"mission_id": mission_id, "removed": list(removed)}, said, as_json=as_json)


@key_app.command()
def key(
    kind: Annotated[
        Literal["approval", "payload", "vault"],
        typer.Argument(help="The purpose: of an approver, of recorded payloads, of the vault."),
    ],
    file: Annotated[Path, typer.Argument(help="The file to write; payload keys are added to it.")],
    key_id: Annotated[
        str | None, typer.Option("--id", help="The public name of a payload key.")
    ] = None,
    approver: Annotated[
        str, typer.Option(help="The one person that an approval key signs for.")
    ] = "",
    issuer: Annotated[
        str,
        typer.Option(
            help="The issuer of an approval key, who vouches for the person: a name or URL."
        ),
    ] = "",
    service: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="An approval key of the service at this URL, which signs for all people.",
        ),
    ] = "",
) -> None:
    """Make a key for approvals, payloads or the vault.

    It is written to a file that only you can read.

    approval: a key pair for one person; the public key is printed, for the key set of workers.
    vault: the key of a vault that does not exist yet. payload: added after those in use, it
    decrypts, and encrypts when its line is the first; give the file to all workers and clients.

    Example: orchestrator key approval ann.jwk --approver ann@example.com --issuer example.com

    Example: orchestrator key approval service.jwk --service https://missions.example.com

    Example: orchestrator key vault vault.key

    Example: orchestrator key payload payload.keys --id 2026-12
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
            f"--id {key_id!r} is not an id of a key: letters, digits, '-', '_' and '.', 64 at most"
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


@token_app.command()
def token(
    subject: Annotated[
        str, typer.Option("--for", metavar="NAME", help="Its requests are recorded as this name's.")
    ],
    scopes: Annotated[
        list[str],
        typer.Option(
            "--scope", help="A right: read, start, decide, operate, administer; may be repeated."
        ),
    ],
    expires: Annotated[
        str, typer.Option(help="The time that it is valid, such as 12h or 30d.")
    ] = "30d",
    sees_all: Annotated[
        bool, typer.Option("--sees-all", help="Missions of everybody, and not only its own.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an API token for `orchestrator serve`.

    It is printed this once. The store keeps a digest of it; the HTTP API lists and revokes tokens.
    Who can run this command with the store of the workers can give any right in any name.

    Example: orchestrator token --for ci@example.com --scope read --scope start --expires 30d
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
            created_by="orchestrator token",
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
