"""The issuer's side of a sign-in: endpoints that misbehave, and claims that come separately."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from orchestrator.web.config import SignInConfig
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.issuer import Issuer, Metadata

URL = "https://login.example.com"
KEY = RSAKey.generate_key(2048, {"kid": "k1"})
METADATA = {
    "issuer": URL,
    "authorization_endpoint": f"{URL}/authorize",
    "token_endpoint": f"{URL}/token",
    "jwks_uri": f"{URL}/jwks",
    "userinfo_endpoint": f"{URL}/userinfo",
    "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
}
STATE = "s" * 32


class Secrets:
    def get(self, name: str) -> str:
        return "planted-secret-of-the-client"


class Fake:
    """An issuer behind a transport, with answers that a test replaces."""

    def __init__(self, **metadata: Any) -> None:
        self.metadata = {**METADATA, **metadata}
        self.user_info: dict[str, Any] = {"sub": "u1", "email": "a@x.io", "groups": ["finance"]}
        self.sign: Callable[[dict[str, Any]], str] = lambda claims: jwt.encode(
            {"alg": "RS256", "kid": "k1"}, claims, KEY
        )
        self.claims: dict[str, Any] = {}
        self.asked: list[httpx2.Request] = []
        self.down: set[str] = set()

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if request.url.path in self.down:
            raise httpx2.ConnectError("away")
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json=self.metadata)
            case "/jwks":
                return httpx2.Response(200, json=KeySet([KEY]).as_dict(private=False))
            case "/userinfo":
                return httpx2.Response(200, json=self.user_info)
            case "/token":
                return httpx2.Response(200, json=self.token())
        return httpx2.Response(404)

    def token(self) -> dict[str, Any]:
        now = int(time.time())
        own = {"iss": URL, "aud": "missions", "sub": "u1", "iat": now, "exp": now + 60}
        claims = {**own, "nonce": issuer_of(self)._derived("nonce", STATE), **self.claims}
        return {"access_token": "at", "token_type": "Bearer", "id_token": self.sign(claims)}


def issuer_of(fake: Fake, **changes: Any) -> Issuer:
    config = {"issuer": URL, "client_id": "missions", "client_secret": "x", **changes}
    metadata = Metadata(URL, transport=httpx2.MockTransport(fake.answer))
    return Issuer(
        SignInConfig(**config), metadata, url="https://m.example", secrets=Secrets(), key=b"k" * 32
    )


async def claims_from(fake: Fake, **changes: Any) -> dict[str, Any]:
    return dict(await issuer_of(fake, **changes).claims("code", STATE, auth_after=None))


async def _refused(fake: Fake, code: str) -> ProblemError:
    with pytest.raises(ProblemError) as refused:
        await claims_from(fake)
    assert refused.value.problem.code == code
    return refused.value


async def test_claims_that_the_id_token_leaves_out_are_asked_for() -> None:
    """At the user info endpoint, of the same person alone; those of the ID token win."""
    fake = Fake()
    fake.claims = {"email": "signed@x.io"}
    claims = await claims_from(fake)
    (asked,) = (one for one in fake.asked if one.url.path == "/userinfo")

    assert (claims["email"], claims["groups"]) == ("signed@x.io", ["finance"])
    assert asked.headers["authorization"] == "Bearer at"
    fake = Fake()
    fake.user_info["sub"] = "u2"
    with pytest.raises(ProblemError, match="another person"):
        await claims_from(fake)


def _unsigned(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none"}, claims)
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return b".".join((*encoded, b"")).decode()


def _by_shared_key(claims: dict[str, Any]) -> str:
    secret = OctKey.import_key("planted-secret-of-the-client")
    return jwt.encode({"alg": "HS256"}, claims, secret)


def _by_another_key(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": "k1"}, claims, RSAKey.generate_key(2048))


@pytest.mark.parametrize(
    "sign", [_unsigned, _by_shared_key, _by_another_key, lambda _: "", lambda _: "a.b.c"]
)
async def test_only_keys_of_the_issuer_sign(sign: Callable[[dict[str, Any]], str]) -> None:
    """Not `none`, and not a shared secret, though its metadata lists both."""
    fake = Fake()
    fake.sign = sign

    assert "planted" not in str(await _refused(fake, "SignInFailed"))


@pytest.mark.parametrize("missing", ["nonce", "iss", "aud", "exp", "sub", "iat"])
async def test_an_id_token_has_all_its_claims(missing: str) -> None:
    fake = Fake()
    whole = fake.sign
    fake.sign = lambda claims: whole({n: v for n, v in claims.items() if n != missing})
    await _refused(fake, "SignInFailed")


@pytest.mark.parametrize(
    "path", ["/.well-known/openid-configuration", "/token", "/jwks", "/userinfo"]
)
async def test_an_endpoint_that_is_away_is_a_problem_of_the_issuer(path: str) -> None:
    fake = Fake()
    fake.down = {path}

    assert (await _refused(fake, "IssuerUnavailable")).headers["Retry-After"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://another.example"},
        {"token_endpoint": "http://login.example.com/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": None},
    ],
)
async def test_metadata_that_leads_elsewhere_is_not_used(metadata: dict[str, Any]) -> None:
    """Nothing is sent to what it names."""
    fake = Fake(**metadata)
    await _refused(fake, "IssuerUnavailable")
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("supported", "secret", "has_header", "has_field"),
    [
        (["client_secret_basic", "client_secret_post"], "x", True, False),
        (["client_secret_post"], "x", False, True),
        (["private_key_jwt"], "x", True, False),
        (["client_secret_basic"], None, False, False),
    ],
)
async def test_the_client_proves_itself_as_the_issuer_supports_it(
    supported: list[str], secret: str | None, has_header: bool, has_field: bool
) -> None:
    fake = Fake(token_endpoint_auth_methods_supported=supported)
    await claims_from(fake, client_secret=secret)
    (asked,) = (one for one in fake.asked if one.url.path == "/token")
    body = asked.content.decode()

    assert ("authorization" in asked.headers) is has_header
    assert ("client_secret=planted" in body) is has_field
    assert "code_verifier=" in body


async def test_an_issuer_that_is_away_is_not_asked_by_each_person() -> None:
    """For a moment, the next ones read the same; then it is asked again."""
    fake, now = Fake(), [0.0]
    fake.down = {"/.well-known/openid-configuration"}
    metadata = Metadata(URL, transport=httpx2.MockTransport(fake.answer), clock=lambda: now[0])
    for _ in range(3):
        with pytest.raises(ProblemError):
            await metadata.current()
    asked = len(fake.asked)
    fake.down, now[0] = set(), 2.5
    assert asked == 1
    assert (await metadata.current()).issuer == URL


async def test_an_issuer_without_sign_out_is_left_alone() -> None:
    """So is one that is away: signing out here works without it."""
    assert await issuer_of(Fake()).end_session_url() is None
    away = Fake()
    away.down = {"/.well-known/openid-configuration"}
    assert await issuer_of(away).end_session_url() is None
