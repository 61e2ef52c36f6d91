"""Records of missions: whole or not, signed by whom, and nothing else taken for either."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from orchestrator.confirmation.mission_records import (
    FORMAT,
    SealedRecord,
    read_sealed,
    seal,
    sign_record,
    verdict_of,
)
from orchestrator.confirmation.models import Approve
from orchestrator.confirmation.signatures import (
    PublicKeys,
    SigningKey,
    proved_signer,
)
from orchestrator.core.errors import SignatureRefused, UsageError
from orchestrator.core.record import JsonObject

RECORD: JsonObject = {"format": FORMAT, "mission_id": "m-1", "result": {"cost": 0.1, "n": [1, "ü"]}}

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def key_pair(subject: str = "ann@example.com") -> tuple[SigningKey, PublicKeys]:
    private, public = SigningKey.generate(issuer="example.com", subject=subject)
    return SigningKey(private), PublicKeys(keys=(public,))


def test_a_record_proves_who_signed_it() -> None:
    """Also after it was written and read in another layout."""
    key, keys = key_pair()
    sealed = sign_record(seal(RECORD), key, at=NOW)
    shuffled = json.dumps(json.loads(sealed.model_dump_json()), sort_keys=True, indent=3)
    verdict = verdict_of(read_sealed(shuffled), keys)

    assert (verdict.is_whole, verdict.is_proved) == (True, True)
    assert (verdict.signer, verdict.issuer) == ("ann@example.com", "example.com")
    assert verdict.signed_at == NOW


def test_whatever_is_changed_shows() -> None:
    """With a digest made anew, the signature does."""
    key, keys = key_pair()
    sealed = sign_record(seal(RECORD), key, at=NOW)
    changed = sealed.model_copy(update={"record": {**RECORD, "result": {"cost": 9}}})
    assert not verdict_of(changed, keys).is_whole

    forged = seal({**RECORD, "mission_id": "m-2"})
    forged = forged.model_copy(update={"signature": sealed.signature})
    verdict = verdict_of(forged, keys)
    assert (verdict.is_whole, verdict.is_proved) == (True, False)
    assert "another record" in verdict.problem


def test_only_the_keys_given_prove() -> None:
    """Nobody's key, or no signature at all, proves nothing; without keys nothing is claimed."""
    key, _ = key_pair()
    _, others = key_pair("bob@example.com")
    sealed = sign_record(seal(RECORD), key, at=NOW)

    assert not verdict_of(sealed, others).is_proved
    assert verdict_of(sealed, others).problem
    assert not verdict_of(seal(RECORD), others).is_proved
    assert verdict_of(sealed, None).signer == ""


def test_a_key_signs_for_nobody_else() -> None:
    """A name that is put on a record is not that of the key's owner."""
    key, keys = key_pair()
    sealed = sign_record(seal(RECORD), key, at=NOW, signer="bob@example.com")

    assert not verdict_of(sealed, keys).is_proved
    private, _ = SigningKey.generate(issuer="", subject="")
    with pytest.raises(UsageError):
        sign_record(seal(RECORD), SigningKey(private), at=NOW)


def test_the_signature_of_a_record_is_no_decision() -> None:
    """The same keys sign both: neither can be taken for the other."""
    key, keys = key_pair()
    sealed = sign_record(seal(RECORD), key, at=NOW)
    now = datetime.now(UTC)
    decision = Approve(
        confirmation_id="m-1.l.1", digest="0" * 64, approver="", signature=sealed.signature
    )
    with pytest.raises(SignatureRefused):
        proved_signer(decision, keys, digest="0" * 64, opened_at=now, at=now)

    signed = key.sign({"iss": "example.com", "sub": "ann@example.com", "sha256": sealed.sha256})
    assert not verdict_of(sealed.model_copy(update={"signature": signed}), keys).is_proved


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"record": {}, "sha256": "x"}',
        f'{{"record": {{"format": "{FORMAT}", "a": 1, "a": 2}}, "sha256": "x"}}',
        f'{{"record": {{"format": "{FORMAT}"}}, "sha256": "x", "note": "beside what is signed"}}',
    ],
)
def test_what_is_no_record_is_refused(text: str) -> None:
    """A name that stands twice would show readers two things; what is beside is not covered."""
    with pytest.raises(ValueError, match=r".+"):
        read_sealed(text)


def test_it_says_what_it_is() -> None:
    """The digest is that of the canonical JSON."""
    sealed = SealedRecord.model_validate_json(
        seal({"format": FORMAT, "b": 1, "a": 2}).model_dump_json()
    )
    assert len(sealed.sha256) == 64
