"""`orchestrator mission export` and `verify`: records and files of missions."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.asking import account_name, ask
from orchestrator.cli.drawing import line
from orchestrator.cli.options import MissionId
from orchestrator.cli.output import AsJson, present, print_json, progress, run, write_new
from orchestrator.core.errors import DocumentUnreadable, UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.confirmation.mission_records import RecordVerdict


def export(
    mission_id: MissionId,
    out: Annotated[
        Path | None, typer.Option(help="Where it is written, a new file; else it is printed.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="HANDLE",
            help="Write a file that it received, in place of its record: file:sha256-..., as its "
            "answers and results say.",
        ),
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
    """Write the record of a mission that is over, one JSON document with its digest, for audit.

    It has the request, the plan, cards, decisions, calls, answers and cancellations, by whom and
    when, and a digest of each recorded history. Personal values are handles in it. For a mission
    that the server no longer knows it has the result from the store and `kept_as_of`; the rest is
    null.

    With --file it writes a file that the mission received, from the store; no server is asked.

    Example: orchestrator mission export book-a-flight-from-1a2b3c --out record.json --key ann.jwk

    Example: orchestrator mission export ship-1a2b3c --file file:sha256-9f86d0 --out label.pdf
    """
    if file is not None:
        if out is None or key or signer or issuer:
            raise UsageError("--file is written as it is: give --out, and no key")
        _write_file(mission_id, file, out)
        return
    from orchestrator.adapters.approval_keys import load_signing_key
    from orchestrator.confirmation.mission_records import seal, sign_record

    if key is None and (signer or issuer):
        raise UsageError("--signer and --issuer say who signs: give --key FILE too")
    if out is not None and out.exists():
        raise UsageError(f"{out} is there already: name a new file")
    signing = None if key is None else load_signing_key(key)
    record = ask(lambda client: client.record(mission_id))
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
    text = json.dumps(sealed.model_dump(mode="json"), indent=2)
    write_new(out, f"{text}\n".encode("ascii"))
    progress.print(line(f"{out}: SHA-256 {sealed.sha256}"), soft_wrap=True)


def _write_file(mission_id: str, handle: str, out: Path) -> None:
    from orchestrator.client.stores import mission_file
    from orchestrator.settings import load_settings

    kept = run(mission_file(load_settings(), mission_id, handle))
    write_new(out, kept.content)
    progress.print(line(f"{out}: {kept}"), soft_wrap=True)


def verify(
    record: Annotated[Path, typer.Argument(help="A file of `mission export`.")],
    keys: Annotated[
        Path | None, typer.Option(help="A JWK set: the public keys that may have signed it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify that the record of a mission is whole and, with --keys, who signed it.

    Exit 1 if it was changed or, with --keys, is not signed by one of them. Asks no server.

    Example: orchestrator mission verify record.json --keys approvers.json
    """
    from orchestrator.confirmation.mission_records import read_sealed, verdict_of
    from orchestrator.confirmation.signatures import read_public_keys

    try:
        sealed = read_sealed(record.read_text(encoding="utf-8"))
        known = None if keys is None else read_public_keys(keys.read_bytes(), str(keys))
    except (OSError, ValueError, RecursionError) as error:
        reason = (str(error).splitlines() or ["it cannot be read"])[0]
        raise DocumentUnreadable(str(record), reason) from error
    verdict = verdict_of(sealed, known)
    ok = verdict.is_whole and (known is None or verdict.is_proved)
    present(verdict, _draw, as_json=as_json, ok=ok)


def _draw(on: Console, verdict: "RecordVerdict") -> None:
    state = "whole" if verdict.is_whole else "not whole"
    on.print(line(f"the record of {verdict.mission_id} is {state}"), soft_wrap=True)
    if verdict.problem:
        on.print(line(verdict.problem), soft_wrap=True)
    if verdict.is_proved:
        at = f" on {verdict.signed_at:%Y-%m-%d %H:%M} UTC" if verdict.signed_at else ""
        on.print(line(f"signed by {verdict.signer} ({verdict.issuer}){at}"), soft_wrap=True)
    elif verdict.is_whole and verdict.is_signed and not verdict.problem:
        on.print("it is signed; by whom, --keys proves", soft_wrap=True)
    elif not verdict.is_signed and not verdict.problem:
        on.print("nobody has signed it: its digest alone proves nothing about who wrote it")
