"""Signed decisions: what is proved by a signature, and all that does not pass for one."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from orchestrator.confirmation.models import Amend, Approve, Decision, Reject, Respond
from orchestrator.confirmation.signatures import (
    TYPE,
    PublicKeys,
    SigningKey,
    decision_claims,
    proved_signer,
    read_public_keys,
    sign_decision,
)
from orchestrator.core.errors import SignatureRefused, SignInTooOld, UsageError
from orchestrator.core.record import JsonObject

OPENED = datetime(2026, 11, 22, 12, 0, 0, 400_000, tzinfo=UTC)
NOW = OPENED + timedelta(minutes=3)
CID, DIGEST = "trip.1-flights.2", "d" * 64
APPROVE = Approve(confirmation_id=CID, digest=DIGEST)
AMEND = Amend(confirmation_id=CID, changes={"seats": [{"row": 12}], "class": "economy"})
REJECT = Reject(confirmation_id=CID, reason="too early")
RESPOND = Respond(confirmation_id=CID, text="a later one")
ANN: dict[str, Any] = {"issuer": "https://id.example.com", "subject": "ann@example.com"}

EC = ECKey.generate_key("P-256")
EVE = ECKey.generate_key("P-256")
OKP = OKPKey.generate_key("Ed25519")
RSA = RSAKey.generate_key(2048)


def public(*keys: Any, **more: Any) -> PublicKeys:
    text = json.dumps({"keys": [{**key.as_dict(private=False), **more} for key in keys]})
    return read_public_keys(text, "jwks.json")


def signing(key: Any) -> SigningKey:
    return SigningKey(key.as_dict(private=True))


def signer_of(decision: Decision, keys: PublicKeys, **more: Any) -> str:
    where: dict[str, Any] = {"digest": DIGEST, "opened_at": OPENED, "at": NOW, **more}
    return proved_signer(decision, keys, **where).subject


def token(claims: JsonObject, key: Any = EC, alg: str = "ES256", **header: Any) -> Approve:
    """An approval signed with whatever header, by whatever key."""
    registry = jws.JWSRegistry(algorithms=[alg], strict_check_header=False)
    wanted = {"alg": alg, "typ": TYPE, **header}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    text = jws.serialize_compact(wanted, json.dumps(claims), key, registry=registry)
    return APPROVE.model_copy(update={"signature": text})


def claims(**changes: Any) -> JsonObject:
    made = {**decision_claims(APPROVE, digest=DIGEST, at=NOW, **ANN), **changes}
    return {name: value for name, value in made.items() if value is not None}


@pytest.mark.parametrize("decision", [APPROVE, AMEND, REJECT], ids=lambda d: d.kind)
@pytest.mark.parametrize("key", [EC, OKP, RSA], ids=["EC", "OKP", "RSA"])
def test_a_signed_decision_proves_its_approver(decision: Decision, key: Any) -> None:
    signed = sign_decision(decision, signing(key), digest=DIGEST, at=NOW, **ANN)

    assert signer_of(signed, public(EC, OKP, RSA)) == "ann@example.com"
    assert (signed.issuer, signed.approver) == ("https://id.example.com", "ann@example.com")


@pytest.mark.parametrize(
    ("key", "alg"), [(OKP, "EdDSA"), (OKP, "Ed25519"), (RSA, "RS256"), (RSA, "PS256")]
)
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_each_algorithm_of_a_key_is_known(key: Any, alg: str) -> None:
    """RFC 9864 renamed Ed25519, and key services use both paddings of RSA."""
    assert signer_of(token(claims(), key, alg), public(key)) == "ann@example.com"


def signing_input(header: JsonObject) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(p).encode()).decode() for p in (header, claims()))
    return ".".join(part.rstrip("=") for part in parts)


def unsigned_none() -> str:
    return f"{signing_input({'alg': 'none', 'typ': TYPE})}."


def hmac_of_public_key() -> str:
    """The classic: a public key, which everybody knows, used as the secret of an HMAC."""
    text = signing_input({"alg": "HS256", "typ": TYPE})
    mac = hmac.new(EC.as_pem(private=False), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


@pytest.mark.parametrize(
    ("forged", "says"),
    [
        (lambda: "", "have to be signed"),
        (unsigned_none, "not signed with one of"),
        (hmac_of_public_key, "not signed with one of"),
        (lambda: "a.b.c", "no compact JWS"),
        (lambda: "not a token", "no compact JWS"),
        (lambda: "x" * 9_000, "too long"),
        (lambda: token(claims(), EVE).signature, "does not verify"),
        (lambda: token(claims(), EVE, jwk=EVE.as_dict(private=False)).signature, "does not verify"),
        (lambda: token(claims(), typ="JWT").signature, "not of the type"),
        (lambda: token(claims(), typ=None).signature, "not of the type"),
        (lambda: token(claims(), kid="another").signature, "no key that is trusted"),
        (lambda: token(claims(), OKP, "Ed25519").signature, "no key that is trusted"),
        (lambda: token(claims(digest="e" * 64)).signature, "another digest"),
        (lambda: token(claims(confirmation_id="trip.1-flights.3")).signature, "another conf"),
        (lambda: token(claims(decision="reject")).signature, "another decision"),
        (lambda: token(claims(content="a" * 64)).signature, "another content"),
        (lambda: token(claims(iss="")).signature, "does not name"),
        (lambda: token(claims(sub=None)).signature, "does not name"),
        (lambda: token(claims(sub="ann\n@example.com")).signature, "does not name"),
        (lambda: token(claims(iat=None)).signature, "does not say when"),
        (lambda: token(claims(iat=True)).signature, "does not say when"),
        (lambda: token(claims(iat=float("nan"))).signature, "does not say when"),
        (lambda: token(claims(iat=int(OPENED.timestamp()) - 1)).signature, "before its card"),
        (lambda: token(claims(iat=int(NOW.timestamp()) + 301)).signature, "a time to come"),
        (lambda: token(claims(exp=int(NOW.timestamp()) - 1)).signature, "has expired"),
        (lambda: token(claims(exp="never")).signature, "has expired"),
    ],
)
def test_what_proves_nothing_is_refused(forged: Callable[[], str], says: str) -> None:
    """Each with a sentence that says what is wrong with it."""
    decision = APPROVE.model_copy(update={"signature": forged()})

    with pytest.raises(SignatureRefused, match=says):
        signer_of(decision, public(EC))


@pytest.mark.parametrize("more", [{"crit": ["x"], "x": 1}, {"b64": False}])
def test_a_critical_header_that_nobody_knows_is_refused(more: JsonObject) -> None:
    header: JsonObject = {"alg": "ES256", "typ": TYPE, **more}
    text = f"{signing_input(header)}.AAAA"

    with pytest.raises(SignatureRefused, match=r"critical|no compact JWS"):
        signer_of(APPROVE.model_copy(update={"signature": text}), public(EC))


@pytest.mark.parametrize(
    ("decision", "tampered"),
    [
        (AMEND, AMEND.model_copy(update={"changes": {**AMEND.changes, "seats": [{"row": 13}]}})),
        (REJECT, REJECT.model_copy(update={"reason": "too late"})),
        (REJECT, REJECT.model_copy(update={"then": "skip"})),
        (REJECT.model_copy(update={"then": "rollback"}), REJECT),
        (RESPOND, RESPOND.model_copy(update={"text": "an earlier one"})),
        (RESPOND, REJECT),
        (AMEND, APPROVE),
        (REJECT, APPROVE),
        (APPROVE, REJECT),
    ],
)
def test_a_signature_is_for_what_was_decided(decision: Decision, tampered: Decision) -> None:
    """Nested changes, reason, what follows, a hint and the kind of a decision are covered."""
    signed = sign_decision(decision, signing(EC), digest=DIGEST, at=NOW, **ANN)
    swapped = tampered.model_copy(update={"signature": signed.signature})

    with pytest.raises(SignatureRefused, match="is for another"):
        signer_of(swapped, public(EC))


@pytest.mark.parametrize(
    "said", [{"approver": "cfo@example.com"}, {"issuer": "https://evil.example"}]
)
def test_what_is_said_beside_a_signature_has_to_agree(said: dict[str, str]) -> None:
    """A record would else name somebody who proved nothing."""
    signed = sign_decision(APPROVE, signing(EC), digest=DIGEST, at=NOW, **ANN)

    with pytest.raises(SignatureRefused, match="and its signature"):
        signer_of(signed.model_copy(update=said), public(EC))


def test_a_card_that_does_not_say_when_it_opened_takes_no_signature() -> None:
    """An old approval could not be told from a new one; one of the second of its opening counts."""
    with pytest.raises(SignatureRefused, match="before its card was opened"):
        signer_of(token(claims()), public(EC), opened_at=None)
    assert signer_of(token(claims(iat=int(OPENED.timestamp()))), public(EC)) == "ann@example.com"


def test_a_key_of_one_person_signs_for_nobody_else() -> None:
    """A public key that names its owner proves only them, whatever the signature says."""
    keys = public(EC, sub="ann@example.com", iss="https://id.example.com")

    assert signer_of(token(claims()), keys) == "ann@example.com"
    for other in ({"sub": "cfo@example.com"}, {"iss": "https://evil.example"}):
        with pytest.raises(SignatureRefused, match="its key signs for"):
            signer_of(token(claims(**other)), keys)


def test_without_a_kid_only_one_key_may_fit() -> None:
    """With one it is found, by its kid or by its thumbprint."""
    two = public(EC, ECKey.generate_key("P-256"))

    with pytest.raises(SignatureRefused, match="several keys fit"):
        signer_of(token(claims()), two)
    assert signer_of(token(claims(), kid=EC.thumbprint()), two) == "ann@example.com"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("nonsense", "no JWK set"),
        ("[]", "no JWK set"),
        ('{"keys": [7]}', "no JWK set"),
        ('{"keys": []}', "holds no key for"),
        (json.dumps({"keys": [EC.as_dict(private=True)]}), "private or shared key"),
        ('{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "private or shared key"),
        (json.dumps({"keys": [ECKey.generate_key("P-384").as_dict(private=False)]}), "no key for"),
        (json.dumps({"keys": [{**EC.as_dict(private=False), "use": "enc"}]}), "no key for"),
        (json.dumps({"keys": [{**EC.as_dict(private=False), "x": "AA"}]}), "no JWK set"),
    ],
)
def test_a_wrong_key_set_is_refused_in_a_sentence(keys: str, says: str) -> None:
    """A private key there could be read by whoever may read a history."""
    with pytest.raises(UsageError, match=says) as refused:
        read_public_keys(keys, "jwks.json")
    assert "\n" not in str(refused.value)
    assert "jwks.json" in str(refused.value)


def test_only_what_counts_of_a_key_is_kept() -> None:
    """It travels with every card; certificates and more keys than people would fill histories."""
    (kept,) = public(EC, x5c=["MII" * 900], kid="2026").keys
    many = json.dumps({"keys": [EC.as_dict(private=False)] * 101})

    assert set(kept) == {"kty", "crv", "x", "y", "kid"}
    with pytest.raises(UsageError, match="more than 100"):
        read_public_keys(many, "jwks.json")


@pytest.mark.filterwarnings("ignore")
def test_a_short_rsa_key_is_refused() -> None:
    """It could be factored."""
    with pytest.raises(UsageError, match="fewer than 2048 bits"):
        public(RSAKey.generate_key(1024))


@pytest.mark.parametrize("key", [EC, OKP, RSA], ids=["EC", "OKP", "RSA"])
def test_a_pem_file_signs_too(key: Any) -> None:
    """Its key is named by its thumbprint, which finds the public key of any kid."""
    pem = SigningKey.read(key.as_pem(private=True).decode())
    signed = sign_decision(APPROVE, pem, digest=DIGEST, at=NOW, **ANN)

    assert signer_of(signed, public(key, kid="2026-11")) == "ann@example.com"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '"text"',
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        json.dumps(EC.as_dict(private=False)),
        json.dumps({"kty": "oct", "k": "c2VjcmV0"}),
        EC.as_pem(private=False).decode(),
    ],
)
def test_what_cannot_sign_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        SigningKey.read(text)
    assert "\n" not in str(refused.value)


def test_a_new_key_names_its_owner() -> None:
    """Both halves do, so that nothing has to be said when signing, and nobody else can be."""
    private, own = SigningKey.generate(issuer="example.com", subject="ann@example.com")
    signed = sign_decision(APPROVE, SigningKey(private), digest=DIGEST, at=NOW)
    keys = read_public_keys(json.dumps({"keys": [own]}), "jwks.json")

    assert "d" not in own
    assert signer_of(signed, keys) == "ann@example.com"
    with pytest.raises(UsageError, match="names its approver"):
        sign_decision(APPROVE, signing(EC), digest=DIGEST, at=NOW, subject="ann@example.com")


def test_a_signature_says_when_its_person_signed_in_and_to_which_groups_they_belong() -> None:
    """And how fresh the sign-in has to be is compared with the time of the decision."""
    at = NOW - timedelta(minutes=10)
    signed = sign_decision(
        APPROVE, signing(EC), digest=DIGEST, at=NOW, auth_time=at, groups={"ops", "cfo"}, **ANN
    )
    where: dict[str, Any] = {"digest": DIGEST, "opened_at": OPENED, "at": NOW}
    signer = proved_signer(signed, public(EC), max_age=timedelta(minutes=11), **where)

    assert signer.groups == ("cfo", "ops")
    assert signer.signed_in_at == at.replace(microsecond=0)
    with pytest.raises(SignInTooOld):
        proved_signer(signed, public(EC), max_age=timedelta(minutes=9), **where)


@pytest.mark.parametrize(
    "forged",
    [
        {"auth_time": "now"},
        {"auth_time": True},
        {"auth_time": -1},
        {"auth_time": 9e9},
        {"groups": "cfo"},
        {"groups": ["cfo", 1]},
        {"groups": {"cfo": True}},
    ],
)
def test_claims_about_a_sign_in_that_make_no_sense_are_refused(forged: JsonObject) -> None:
    with pytest.raises(SignatureRefused):
        signer_of(token(claims(**forged)), public(EC))
