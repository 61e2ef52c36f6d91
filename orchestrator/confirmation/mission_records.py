"""Verifiable records of missions: a digest over the whole record, and a signature.

Nothing here reads or writes a file, or asks anybody.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import Field, JsonValue

from orchestrator.confirmation.models import canonical_digest
from orchestrator.confirmation.signatures import (
    RECORD_TYPE,
    PublicKeys,
    SigningKey,
    verified_record,
)
from orchestrator.core.errors import SignatureRefused, UsageError
from orchestrator.core.record import JsonObject, Record

FORMAT: Final = "orchestrator-mission-record/1"


class SealedRecord(Record):
    """A mission's record, as it is written to a file."""

    record: JsonObject
    sha256: str = Field(description="hex digest of the record's canonical JSON (RFC 8785)")
    signature: str = Field(default="", description="compact JWS over the digest; empty if unsigned")


class RecordVerdict(Record):
    """The result of verifying a record's file."""

    mission_id: str
    is_whole: bool = Field(description="True if the record matches its digest")
    is_signed: bool = False
    is_proved: bool = Field(
        default=False, description="True if one of the given keys made the signature"
    )
    signer: str = ""
    issuer: str = ""
    signed_at: datetime | None = None
    problem: str = ""


def seal(record: JsonObject) -> SealedRecord:
    """Return the record with its digest."""
    return SealedRecord(record=record, sha256=canonical_digest(record))


def sign_record(
    sealed: SealedRecord, key: SigningKey, *, at: datetime, signer: str = "", issuer: str = ""
) -> SealedRecord:
    """Return the record signed for the named signer, or else the key's.

    Raises:
        UsageError: the signer or the issuer is missing.
    """
    who, by = signer or key.subject, issuer or key.issuer
    if not (who and by):
        raise UsageError("a signed record names who signs it and who vouches for them: say both")
    claims: JsonObject = {
        "iss": by,
        "sub": who,
        "iat": int(at.timestamp()),
        "mission_id": sealed.record.get("mission_id"),
        "sha256": sealed.sha256,
    }
    return sealed.model_copy(update={"signature": key.sign(claims, kind=RECORD_TYPE)})


def read_sealed(text: str) -> SealedRecord:
    """Return the record of a file.

    Raises:
        ValueError: it is none, or has a duplicate name, which readers could read differently.
    """
    found = json.loads(text, object_pairs_hook=_once)
    sealed = SealedRecord.model_validate(found, extra="forbid")
    if sealed.record.get("format") != FORMAT:
        raise ValueError(f"it is no record of a mission ({FORMAT})")
    return sealed


def verdict_of(sealed: SealedRecord, keys: PublicKeys | None) -> RecordVerdict:
    """Verify a record's digest and, with keys, its signature."""
    digest = canonical_digest(sealed.record)
    verdict = RecordVerdict(
        mission_id=str(sealed.record.get("mission_id", "")),
        is_whole=digest == sealed.sha256,
        is_signed=bool(sealed.signature),
    )
    if not verdict.is_whole:
        return _but(verdict, "it was changed: what it says does not have its digest")
    if keys is None:
        return verdict
    if not sealed.signature:
        return _but(verdict, "nobody has signed it")
    try:
        claims = verified_record(sealed.signature, keys, verdict.mission_id)
    except SignatureRefused as refused:
        return _but(verdict, str(refused))
    if (claims.get("sha256"), claims.get("mission_id")) != (digest, verdict.mission_id):
        return _but(verdict, "its signature is for another record")
    return verdict.model_copy(
        update={
            "is_proved": True,
            "signer": str(claims.get("sub", "")),
            "issuer": str(claims.get("iss", "")),
            "signed_at": _moment(claims.get("iat")),
        }
    )


def _but(verdict: RecordVerdict, problem: str) -> RecordVerdict:
    return verdict.model_copy(update={"problem": problem})


def _moment(seconds: JsonValue) -> datetime | None:
    is_number = isinstance(seconds, int) and not isinstance(seconds, bool) and 0 < seconds < 2**33
    return datetime.fromtimestamp(int(str(seconds)), UTC) if is_number else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
