"""`orchestrator pii`, `key` and `token`: personal values, keys, and tokens of the HTTP API."""

import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import new_app, read_duration
from orchestrator.cli.output import AsJson, ask, console, line, print_json, progress, write_new
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.core.record import JsonObject

pii_app, key_app, token_app = new_app(), new_app(), new_app()


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
        bool, typer.Option("--force", help="Also while the mission or its rollback is open.")
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
    from orchestrator.client.stores import open_vault
    from orchestrator.settings import load_settings

    if mission_id is not None or force:
        if name is not None or not forget or mission_id is None:
            raise UsageError("--mission ID and --force go with --forget, without a name")
        removed = ask(lambda client: client.purge_personal(mission_id, force=force))
        fields = ", ".join(removed) or "no personal value, for none is kept,"
        document: JsonObject = {"mission_id": mission_id, "removed": list(removed)}
        said = [f"removed {fields} of {mission_id}, and the answers it received"]
    elif name is None:
        if forget or value is not None:
            raise UsageError("name the field; to forget, also: --mission ID")
        held = open_vault(load_settings()).contents()
        brought = {m: sorted({v.field for v in vs}) for m, vs in sorted(held.missions().items())}
        document = {
            "fields": list(held.fields()),
            "missions": {m: [*names] for m, names in brought.items()},
        }
        said = [*held.fields()]
        said += [f"{', '.join(names)}  (brought by {one})" for one, names in brought.items()]
    elif forget:
        had = open_vault(load_settings()).forget(name)
        document = {"removed": [name] if had else []}
        said = [f"forgot {name}" if had else f"nothing is kept of {name}"]
    else:
        vault = open_vault(load_settings())
        vault.put(name, typer.prompt("Value", hide_input=True) if value is None else value)
        document, said = {"stored": name}, [f"stored {name}"]
    if as_json:
        print_json(document)
        return
    for text in said:
        console.print(line(text))


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
        print_json(make_key(file, approver=approver, issuer=issuer, service=service))
        return
    from orchestrator.adapters.storage import files, sql_vault
    from orchestrator.adapters.temporal import payload_keys

    if kind == "vault":
        write_new(file, f"{sql_vault.new_key()}\n".encode())
        use = f"export ORCHESTRATOR_PII_KEY_FILE={file.absolute()}"
        console.print(line(f"wrote {file}; use it with: {use}"))
        return
    keys: dict[str, str] = {}
    if file.exists():
        try:
            text = file.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"{file} cannot be read") from None
        read = payload_keys.read_payload_keys(text, str(file))
        keys = {one: urlsafe_b64encode(key).decode() for one, key in read.items()}
    new_id = key_id or ""
    if not payload_keys.is_key_id(new_id):
        raise UsageError(
            f"--id {new_id!r} is not an id of a key: letters, digits, '-', '_' and '.', 64 at most"
        )
    if new_id in keys:
        raise UsageError(f"{file} holds a key {new_id!r} already; choose another id")
    does = "encrypts and decrypts" if not keys else "decrypts; moved to the first line, it encrypts"
    keys[new_id] = payload_keys.new_payload_key()
    lines = ["# Payload keys: the first encrypts, each of them decrypts.\n"]
    lines += [f"{one}:{key}\n" for one, key in keys.items()]
    try:
        files.replace_file(file, "".join(lines).encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    progress.print(f"{file}: the key {new_id!r} {does}")


def make_key(file: Path, *, approver: str, issuer: str, service: str = "") -> "JsonObject":
    """Write a new private key to a file, of a person or of a service; return the public key."""
    from orchestrator.adapters.approval_keys import write_signing_key
    from orchestrator.confirmation.signatures import SigningKey

    if service:
        if not service.startswith(("https://", "http://")):
            raise UsageError("--service is the URL of the service, as its file says it")
        issuer, approver = service.rstrip("/").lower(), ""
    else:
        for option, name in (("--approver", approver), ("--issuer", issuer)):
            if not (name.strip() and name.isprintable()):
                raise UsageError(f"{option} is a name of printable characters")
    private, public = SigningKey.generate(issuer=issuer, subject=approver)
    write_signing_key(file, json.dumps(private))
    return public


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
    from orchestrator.web.people import Right
    from orchestrator.web.sign_in.identity import utc_now

    rights_given: list[Right] = []
    for scope in scopes:
        try:
            rights_given.append(Right(scope))
        except ValueError:
            raise UsageError(f"--scope {scope!r}: name one of {', '.join(Right)}") from None
    with store_of(load_settings()) as store:
        made = create(
            store,
            subject=subject,
            scopes=rights_given,
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
