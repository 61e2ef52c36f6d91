"""Signed decisions: an approver, or their service, proves one by a compact JWS (RFC 7515).

This project holds no secrets here: workflows and workers have public keys, and sign nothing.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isfinite
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from pydantic import JsonValue

from orchestrator.confirmation.models import Amend, Approve, Decision, Reject, Respond
from orchestrator.core.errors import SignatureRefused, SignInTooOld, UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_digest

D = TypeVar("D", Approve, Amend, Reject, Respond, Approve | Amend | Reject | Respond)

TYPE: Final = "orchet-decision+jwt"
"""The `typ` of the JWS: a token for another purpose is no decision."""
ALGORITHMS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ES256": ("EC", "P-256"),
    "Ed25519": ("OKP", "Ed25519"),
    "EdDSA": ("OKP", "Ed25519"),
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
}
"""Permitted algorithms, with the type and curve of their keys; none uses a shared secret."""
_PARAMETERS = ("kty", "crv", "x", "y", "n", "e", "d", "p", "q", "dp", "dq", "qi")
_KEPT = ("kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "key_ops", "iss", "sub")
"""The members of a public key that are stored; certificates would fill histories."""
_PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}
_KEY_TYPES: Final[Mapping[str, type[ECKey] | type[OKPKey] | type[RSAKey]]] = {
    "EC": ECKey,
    "OKP": OKPKey,
    "RSA": RSAKey,
}
_SMALLEST_RSA = 2048
_MOST_KEYS = 100
"""The maximum number of keys in a set, which travels with every card."""
_LONGEST = 8_192
"""The maximum number of characters of a signature, more than this project's claims need."""
_SKEW = timedelta(minutes=5)
"""The maximum time that a signer's clock may be ahead."""


_Refuse = Callable[[str], SignatureRefused]


class PublicKeys(Record):
    """The keys that decisions may be signed with, as public JWKs (RFC 7517)."""

    keys: tuple[JsonObject, ...]


class Signer(NamedTuple):
    """The person that a signature names, and what it says about them."""

    issuer: str
    subject: str
    groups: tuple[str, ...] = ()
    signed_in_at: datetime | None = None


class _Registry(jws.JWSRegistry):
    """Registry of the permitted algorithms.

    They include `EdDSA`, because few libraries write its new name (RFC 9864) yet.
    """

    def get_alg(self, name: str):  # type: ignore[no-untyped-def] # its type is not public
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError(f"{name} signs no decisions")
        return self.algorithms[name]


_REGISTRY = _Registry(strict_check_header=False)


def read_public_keys(text: str | bytes, where: str) -> PublicKeys:
    """Return the keys of a JWK set that can prove a decision; other keys are skipped.

    Raises:
        UsageError: it is no JWK set, contains a private or a shared key, or no usable key.
    """
    try:
        listed = json.loads(text)["keys"]
        keys: list[JsonObject] = []
        for key in listed:
            if _is_ours(key, where):
                made = _import(key)
                if isinstance(made, RSAKey) and made.raw_value.key_size < _SMALLEST_RSA:
                    least = f"an RSA key of fewer than {_SMALLEST_RSA} bits proves nothing"
                    raise UsageError(f"{where}: {least}")
                keys.append({name: key[name] for name in _KEPT if name in key})
    except (ValueError, KeyError, TypeError, AttributeError, JoseError) as error:
        raise UsageError(f"{where} is no JWK set (RFC 7517): {_first_line(error)}") from error
    if len(keys) > _MOST_KEYS:
        raise UsageError(f"{where} holds more than {_MOST_KEYS} keys that can sign decisions")
    if not keys:
        raise UsageError(f"{where} holds no key for {', '.join(ALGORITHMS)}")
    return PublicKeys(keys=tuple(keys))


def _is_ours(key: JsonObject, where: str) -> bool:
    if _PRIVATE & key.keys() or key["kty"] == "oct":
        raise UsageError(
            f"{where} holds a private or shared key ({key.get('kid', 'without kid')}): whoever "
            "reads it could approve; make a new key pair, and list public keys alone"
        )
    return any(_fits(key, alg) for alg in ALGORITHMS)


def _import(key: JsonObject) -> Key:
    parameters: dict[str, Any] = {name: key[name] for name in _PARAMETERS if name in key}
    return _KEY_TYPES[str(key["kty"])].import_key(parameters)


def _fits(key: JsonObject, alg: str) -> bool:
    kind, curve = ALGORITHMS[alg]
    operations = key.get("key_ops")
    names = ("EdDSA", "Ed25519") if alg in ("EdDSA", "Ed25519") else (alg,)
    return (
        key.get("kty") == kind
        and key.get("crv") == curve
        and key.get("use", "sig") == "sig"
        and key.get("alg", alg) in names
        and (not isinstance(operations, list) or "verify" in operations)
    )


class SigningKey:
    """A private key that signs decisions: of a person, or of a service that knows its users."""

    def __init__(self, jwk: JsonObject) -> None:
        """Store a private JWK, its `kid`, `iss` and `sub`; UsageError: it signs no decision."""
        try:
            self._key = _import(jwk)
            is_private = self._key.is_private
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"no private key: {_first_line(error)}") from error
        named = [alg for alg in ALGORITHMS if _fits({**jwk, "key_ops": None}, alg)]
        if not is_private or not named:
            raise UsageError(f"a decision is signed with a private key for {', '.join(ALGORITHMS)}")
        self.algorithm = named[0]
        self.kid = _text(jwk, "kid") or self._key.thumbprint()
        self.issuer, self.subject = _text(jwk, "iss"), _text(jwk, "sub")

    @classmethod
    def read(cls, text: str) -> "SigningKey":
        """Return the key of an unencrypted PEM or JWK file; UsageError: it signs no decision."""
        try:
            return cls(_from_pem(text) if "-----BEGIN" in text else json.loads(text))
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"neither a PEM nor a JWK file: {_first_line(error)}") from error

    @classmethod
    def generate(cls, *, issuer: str, subject: str) -> tuple[JsonObject, JsonObject]:
        """Return a new key pair as private and public JWK.

        Empty, the key signs as any issuer, and for any subject, as a service does.
        """
        made = OKPKey.generate_key("Ed25519")
        names = {"kid": made.thumbprint(), "iss": issuer, "sub": subject}
        named: JsonObject = {name: value for name, value in names.items() if value}
        private, public = made.as_dict(private=True), made.as_dict(private=False)
        return {**_parameters(private), **named}, {**_parameters(public), **named, "use": "sig"}

    def sign(self, claims: JsonObject) -> str:
        """Return the compact JWS over these claims; its `typ` limits it to decisions."""
        header = {"alg": self.algorithm, "typ": TYPE, "kid": self.kid}
        return jws.serialize_compact(header, json.dumps(claims), self._key, registry=_REGISTRY)


def _parameters(key: Mapping[str, Any]) -> JsonObject:
    return {name: key[name] for name in _PARAMETERS if name in key}


def _from_pem(text: str) -> JsonObject:
    load_pem_private_key(text.encode(), None)  # raises a precise error, for example for a password
    for kind in _KEY_TYPES.values():
        try:
            return _parameters(kind.import_key(text).as_dict(private=True))
        except (JoseError, ValueError, TypeError):
            continue
    raise UsageError("its key is of a type that signs no decisions")


def decision_claims(
    decision: Decision,
    *,
    digest: str,
    issuer: str,
    subject: str,
    at: datetime,
    auth_time: datetime | None = None,
    groups: Iterable[str] = (),
) -> JsonObject:
    """Return the claims of the JWS of a decision.

    The issuer vouches for the subject, the approver by the name in policies and records; `at` is
    the time of signing, and `auth_time` that of the sign-in, if known.
    """
    listed: list[JsonValue] = [*sorted(set(groups))]
    return {
        "iss": issuer,
        "sub": subject,
        "iat": int(at.timestamp()),
        "confirmation_id": decision.confirmation_id,
        "digest": digest,
        "decision": decision.kind,
        **_content(decision),
        **({} if auth_time is None else {"auth_time": int(auth_time.timestamp())}),
        **({"groups": listed} if listed else {}),
    }


def _content(decision: Decision) -> JsonObject:
    match decision:
        case Approve(again=again) if again is not None:
            return {"content": canonical_digest({"again": again.content()})}
        case Amend(changes=changes):
            return {"content": canonical_digest(changes)}
        case Reject(reason=reason, then="replan"):
            # Before rejections had a `then`, signers left it out: their signatures stay valid.
            return {"content": canonical_digest({"reason": reason})}
        case Reject(reason=reason, then=then):
            return {"content": canonical_digest({"reason": reason, "then": then})}
        case Respond(text=text):
            return {"content": canonical_digest({"text": text})}
    return {}


def sign_decision(
    decision: D,
    key: SigningKey,
    *,
    digest: str,
    at: datetime,
    issuer: str = "",
    subject: str = "",
    auth_time: datetime | None = None,
    groups: Iterable[str] = (),
) -> D:
    """Return the decision with its approver's signature; the key may name the approver.

    Raises:
        UsageError: neither names the approver and the issuer.
    """
    who = subject or decision.approver or key.subject
    by = issuer or decision.issuer or key.issuer
    if not (who and by):
        raise UsageError("a signed decision names its approver and its issuer: say both")
    claims = decision_claims(
        decision, digest=digest, issuer=by, subject=who, at=at, auth_time=auth_time, groups=groups
    )
    signed = {"approver": who, "issuer": by, "signature": key.sign(claims)}
    return decision.model_copy(update=signed)


def proved_signer(
    decision: Decision,
    keys: PublicKeys,
    *,
    digest: str,
    opened_at: datetime | None,
    at: datetime,
    max_age: timedelta | None = None,
) -> Signer:
    """Return the signer of a decision on the card of this digest, by its signature.

    Raises:
        SignatureRefused: it is not signed, not by one of these keys, or for something else.
        SignInTooOld: it proves no sign-in within `max_age` before the decision.
    """
    refuse = partial(SignatureRefused, decision.confirmation_id)
    claims = _verified(decision.signature, keys, refuse)
    expected = decision_claims(decision, digest=digest, issuer="", subject="", at=at)
    for name in ("confirmation_id", "digest", "decision", "content"):
        if claims.get(name) != expected.get(name):
            raise refuse(f"its signature is for another {name}")
    _check_time(claims, opened_at, at, refuse)
    named = _text(claims, "iss"), _text(claims, "sub")
    if not all(name.strip() and name.isprintable() for name in named):
        raise refuse("its signature does not name an approver (sub) and an issuer (iss)")
    for stated, name in zip((decision.issuer, decision.approver), named, strict=True):
        if stated and stated.casefold() != name.casefold():
            raise refuse(f"it says {stated}, and its signature {name}")
    said, signed_in_at, signed_at = claims.get("auth_time"), None, claims["iat"]
    if said is not None:
        if not (_is_number(said) and _is_number(signed_at) and 0 <= said <= signed_at):
            raise refuse("the sign-in of its signature (auth_time) is no time before it")
        signed_in_at = datetime.fromtimestamp(said, UTC)
    if max_age is not None and (signed_in_at is None or at - signed_in_at > max_age):
        raise unproved_sign_in(decision.confirmation_id, max_age)
    groups = claims.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(one, str) for one in groups):
        raise refuse("the groups of its signature are no list of names")
    return Signer(*named, tuple(map(str, groups)), signed_in_at)


def unproved_sign_in(confirmation_id: str, max_age: timedelta) -> SignInTooOld:
    """Return the refusal of a decision that proves no sign-in as fresh as required."""
    return SignInTooOld(
        confirmation_id,
        f"its approver has to have signed in within {max_age} before the decision, and no "
        "signature proves that: sign in again, and decide then",
        max_age_s=max_age.total_seconds(),
    )


def named_signer(signature: str) -> Signer:
    """Return the signer of a signature that `proved_signer` accepted; nothing is verified here.

    Workflows replay this function: it depends on the format alone, and not on a library's
    behaviour.
    """
    payload = signature.split(".")[1]
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return Signer(_text(claims, "iss"), _text(claims, "sub"))


def _verified(signature: str, keys: PublicKeys, refuse: _Refuse) -> JsonObject:
    if not signature:
        raise refuse(
            "decisions have to be signed here, and this one is not "
            "(orchestrator confirm approve --key FILE)"
        )
    if len(signature) > _LONGEST:
        raise refuse("its signature is too long")
    header = _header(signature, refuse)
    key = _key_for(header, keys, refuse)
    try:
        token = jws.deserialize_compact(signature, _import(key), registry=_REGISTRY)
        claims = json.loads(token.payload)
    except (JoseError, ValueError) as error:
        raise refuse("its signature does not verify") from error
    if not isinstance(claims, dict):
        raise refuse("its signature is over something else")
    for name in ("iss", "sub"):
        if name in key and key[name] != claims.get(name):
            raise refuse(f"its key signs for {key[name]} alone")
    return claims


def _header(signature: str, refuse: _Refuse) -> JsonObject:
    try:
        header: JsonObject = jws.extract_compact(signature.encode()).headers()
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise refuse("its signature is no compact JWS") from error
    if header.get("alg") not in ALGORITHMS:
        raise refuse(f"it is not signed with one of {', '.join(ALGORITHMS)}")
    if header.get("typ") != TYPE:
        raise refuse(f"its signature is not of the type (typ) {TYPE}")
    if {"crit", "b64"} & header.keys():
        raise refuse("its signature has critical headers that nobody knows here")
    return header


def _key_for(header: JsonObject, keys: PublicKeys, refuse: _Refuse) -> JsonObject:
    """Return the one key that a header names by its kid, or the only one that fits."""
    kid, alg = header.get("kid"), str(header["alg"])
    fitting = [key for key in keys.keys if _fits(key, alg)]
    if kid is not None:
        # A thumbprint (RFC 7638) names the key of a PEM file.
        fitting = [k for k in fitting if kid in (k.get("kid", ""), _import(k).thumbprint())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise refuse("several keys fit its signature: name one of them by its kid")
    raise refuse("no key that is trusted here fits its signature")


def _check_time(
    claims: JsonObject, opened_at: datetime | None, at: datetime, refuse: _Refuse
) -> None:
    signed_at, now = claims.get("iat"), at.timestamp()
    if not _is_number(signed_at):
        raise refuse("its signature does not say when it was made (iat)")
    if opened_at is None or signed_at < int(opened_at.timestamp()):
        raise refuse("it was signed before its card was opened")
    if signed_at > now + _SKEW.total_seconds():
        raise refuse("it is signed for a time to come; is the signer's clock right?")
    ends = claims.get("exp")
    if ends is not None and not (_is_number(ends) and now < ends):
        raise refuse("its signature has expired (exp)")


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _text(holder: JsonObject, name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__
