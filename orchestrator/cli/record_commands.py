"""`orchestrator mission export`, `verify` and `file`: what is kept of a mission."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.adapters.storage.files import create_file
from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line
from orchestrator.cli.output import AsJson, present, print_json, progress, run
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import DocumentUnreadable, UsageError

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.confirmation.mission_records import RecordVerdict, SealedRecord


def export(
    mission_id: Annotated[str, typer.Argument(metavar="ID", help="The mission's id.")],
    out: Annotated[
        Path | None, typer.Option(help="Where it is written, a new file; else it is printed.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="A private key (JWK or PEM) that signs it.")
    ] = None,
    signer: Annotated[
        str | None, typer.Option(help="Who signs; default: as the key says, else your account.")
    ] = None,
    issuer: Annotated[
        str | None, typer.Option(help="Who vouches for them; default: as the key says.")
    ] = None,
) -> None:
    """The record of a mission that is over, as one JSON document with its digest, for audit.

    What was asked for, planned, shown, decided, sent, answered and taken back, by whom and when,
    and a digest of each recorded history. Personal values are handles in it. Of one that the server
    no longer knows it is the result that the store has kept: `kept_as_of` is there, the rest null.

    Example: orchestrator mission export book-a-flight-from-1a2b3c --out record.json --key ann.jwk
    """
    from orchestrator.adapters.signing_keys import load_signing_key
    from orchestrator.confirmation.mission_records import seal, sign_record

    if key is None and (signer or issuer):
        raise UsageError("--signer and --issuer say who signs: give --key FILE too")
    if out is not None and out.exists():
        raise UsageError(f"{out} is there already: name a new file")
    signing = None if key is None else load_signing_key(key)
    record = ask(lambda client: client.record(mission_id), tells_silence=True)
    if since := record.get("kept_as_of"):
        progress.print(
            f"its server no longer knows it: this is its result of {str(since)[:10]}, as the store "
            "has kept it, without its events and the digests of its histories",
            soft_wrap=True,
        )
    sealed = seal(record)
    if signing is not None:
        who = signer or signing.subject or account_name()
        sealed = sign_record(sealed, signing, at=datetime.now(UTC), signer=who, issuer=issuer or "")
    if out is None:
        print_json(sealed)
        return
    _write(out, sealed)
    progress.print(line(f"{out}: SHA-256 {sealed.sha256}"), soft_wrap=True)


def _write(out: Path, sealed: "SealedRecord") -> None:
    text = json.dumps(sealed.model_dump(mode="json"), indent=2)
    try:
        with out.open("x", encoding="ascii") as file:
            file.write(f"{text}\n")
    except FileExistsError:
        raise UsageError(f"{out} is there already: name a new file") from None
    except FileNotFoundError:
        raise UsageError(f"{out}: there is no such folder") from None


def verify(
    file: Annotated[Path, typer.Argument(help="What `mission export` has written.")],
    keys: Annotated[
        Path | None, typer.Option(help="A JWK set: the public keys that may have signed it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Whether the record of a mission is whole and, by the keys given, who signed it.

    Exit 1 if it was changed or, with --keys, is not signed by one of them. Asks no server.

    Example: orchestrator mission verify record.json --keys approvers.json
    """
    from orchestrator.confirmation.mission_records import read_sealed, verdict_of
    from orchestrator.confirmation.signatures import read_public_keys

    try:
        sealed = read_sealed(file.read_text(encoding="utf-8"))
        known = None if keys is None else read_public_keys(keys.read_bytes(), str(keys))
    except (OSError, ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["it cannot be read"])[0]
        raise DocumentUnreadable(str(file), reason) from error
    verdict = verdict_of(sealed, known)
    ok = verdict.is_whole and (known is None or verdict.is_proved)
    present(verdict, _draw, as_json=as_json, ok=ok)


def _draw(on: Console, verdict: "RecordVerdict") -> None:
    on.print(line(f"the record of {verdict.mission_id} is {_state(verdict)}"), soft_wrap=True)
    if verdict.problem:
        on.print(line(verdict.problem), soft_wrap=True)
    if verdict.is_proved:
        at = f" on {verdict.signed_at:%Y-%m-%d %H:%M} UTC" if verdict.signed_at else ""
        on.print(line(f"signed by {verdict.signer} ({verdict.issuer}){at}"), soft_wrap=True)
    elif verdict.is_whole and verdict.is_signed and not verdict.problem:
        on.print("it is signed; by whom, --keys proves", soft_wrap=True)
    elif not verdict.is_signed and not verdict.problem:
        on.print("nobody has signed it: whoever could change it could make its digest anew")


def _state(verdict: "RecordVerdict") -> str:
    return "whole" if verdict.is_whole else "not whole"


def file(
    mission_id: Annotated[str, typer.Argument(metavar="ID", help="The mission's id.")],
    handle: Annotated[str, typer.Argument(help="file:sha256-..., as its answers and results say.")],
    out: Annotated[Path, typer.Option(help="Where it is written, a new file.")],
) -> None:
    """Write a file that a mission received; it is read from the store, and no server is asked.

    Example: orchestrator mission file ship-1a2b3c file:sha256-9f86d081884c --out label.pdf
    """
    from orchestrator.client.kept_file import mission_file
    from orchestrator.settings import load_settings

    kept = run(mission_file(load_settings(), mission_id, handle))
    try:
        is_new = create_file(out, kept.content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{out} cannot be written: {reason}") from None
    if not is_new:
        raise UsageError(f"{out} is there already: name a new file")
    progress.print(line(f"{out}: {kept}"), soft_wrap=True)
