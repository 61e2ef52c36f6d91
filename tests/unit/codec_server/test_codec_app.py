import time
from typing import Any

import httpx
import pytest
from google.protobuf import json_format
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from starlette.applications import Starlette
from temporalio.api.common.v1 import Payload, Payloads

from orchestrator.adapters.access_tokens import AccessTokens
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_codec import EncryptionCodec, key_id_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.codec_server.callers import COOKIE, Callers
from orchestrator.codec_server.codec_app import create_codec_app
from orchestrator.core.errors import UsageError

pytestmark = pytest.mark.unit
KEYS = PayloadKeys.of_text(f"k1:{new_payload_key()}")
CODEC = EncryptionCodec(KEYS)
TOKEN = "a long random text"
UI = "https://temporal.example.com"
BEARER = {"Authorization": f"Bearer {TOKEN}", "X-Namespace": "default"}
SIGNING = ECKey.generate_key("P-256", {"kid": "s1"})
JWKS = KeySet([SIGNING]).as_dict(private=False)


async def fetched(url: str) -> bytes:
    return httpx.Response(200, json=JWKS).content


def access_tokens() -> AccessTokens:
    return AccessTokens(
        "https://login.example.com/jwks.json",
        audience="codec",
        issuer="https://login.example.com",
        fetch=fetched,
    )


def served(callers: Callers | None = None, *, is_tls: bool = True) -> httpx.AsyncClient:
    app: Starlette = create_codec_app(
        CODEC, callers or Callers(token=TOKEN, origins=[UI]), origins=[UI], is_tls=is_tls
    )
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="https://codec.example.com"
    )


async def encrypted(value: Any = "Zephyrine") -> dict[str, Any]:
    payloads = Payloads(payloads=await mission_converter(KEYS).encode([value]))
    return json_format.MessageToDict(payloads)


def read(answer: httpx.Response) -> list[Payload]:
    return list(json_format.Parse(answer.content, Payloads()).payloads)


@pytest.mark.parametrize("path", ["/decode", "/default/decode"])
async def test_what_is_encrypted_is_shown_and_what_is_not_stays(path: str) -> None:
    both = await encrypted()
    both["payloads"].append({"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "Mg=="})
    answer = await served().post(path, json=both, headers=BEARER)
    assert answer.status_code == 200
    assert [payload.data for payload in read(answer)] == [b'"Zephyrine"', b"2"]
    assert answer.headers["cache-control"] == "no-store"


async def test_what_is_typed_in_the_ui_is_encrypted() -> None:
    plain = {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "Mg=="}]}
    (payload,) = read(await served().post("/default/encode", json=plain, headers=BEARER))
    assert key_id_of(payload) == "k1"
    assert CODEC.opened(payload).data == b"2"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer another"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": f"{COOKIE}=made-up", "Origin": UI},
    ],
)
async def test_nobody_reads_who_proves_nothing(headers: dict[str, str]) -> None:
    answer = await served().post("/decode", json=await encrypted(), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "payloads" not in answer.json()


async def test_without_a_token_and_access_tokens_nobody_is_let_in() -> None:
    async with served(Callers()) as http:
        for headers in ({"Authorization": "Bearer "}, {"Authorization": "Bearer x"}, {}):
            answer = await http.post("/decode", json=await encrypted(), headers=headers)
            assert answer.status_code == 401
        assert (await http.get("/")).status_code == 404


@pytest.mark.parametrize("data", ["cut", "of another key"])
async def test_a_payload_that_cannot_be_read_comes_back_as_it_was(
    data: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others of the page are decoded, and the log says why that one is not."""
    caplog.set_level("INFO")
    other = mission_converter(PayloadKeys.of_text(f"k9:{new_payload_key()}"))
    (good,) = await mission_converter(KEYS).encode(["Zephyrine"])
    (locked,) = await other.encode(["Zephyrine"])
    unread = {
        "cut": Payload(metadata=good.metadata, data=good.data[:20]),
        "of another key": locked,
    }[data]
    sent = Payloads(payloads=[good, unread, good])
    answer = await served().post("/decode", json=json_format.MessageToDict(sent), headers=BEARER)
    first, kept, last = read(answer)
    assert answer.status_code == 200
    assert first.data == last.data == b'"Zephyrine"'
    assert kept == unread
    assert "left as it was" in caplog.text
    assert "Zephyrine" not in caplog.text


@pytest.mark.parametrize("body", [b"", b"{", b'{"payloads": 3}', b"\xff", b"[" * 5_000])
async def test_what_is_no_payloads_is_refused(body: bytes) -> None:
    answer = await served().post("/decode", content=body, headers=BEARER)
    assert (answer.status_code, "no JSON of payloads" in answer.json()["message"]) == (400, True)


async def test_the_ui_may_ask_and_no_other_page() -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-namespace",
        "Access-Control-Request-Private-Network": "true",
    }
    allowed = await served().options("/default/decode", headers={"Origin": UI, **asked})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == UI
    assert allowed.headers["access-control-allow-credentials"] == "true"
    assert allowed.headers["access-control-allow-private-network"] == "true"
    evil = {"Origin": "https://evil.example", **asked}
    refused = await served().options("/default/decode", headers=evil)
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
    assert "access-control-allow-private-network" not in refused.headers
    answer = await served().post("/decode", json=await encrypted(), headers={"Origin": UI})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, UI)


async def test_a_session_counts_for_the_ui_alone() -> None:
    async with served() as http:
        assert (await http.post("/login", data={"token": "another"})).status_code == 401
        opened = await http.post("/login", data={"token": TOKEN})
        assert {"HttpOnly", "Secure"} <= set(opened.headers["set-cookie"].split("; "))
        assert TOKEN not in opened.headers["set-cookie"]
        sent = await encrypted()
        assert (await http.post("/decode", json=sent, headers={"Origin": UI})).status_code == 200
        for elsewhere in ({"Origin": "https://evil.example"}, {}):
            answer = await http.post("/decode", json=sent, headers=elsewhere)
            assert answer.status_code == 401


async def test_a_session_ends() -> None:
    now = [0.0]
    callers = Callers(token=TOKEN, origins=[UI], clock=lambda: now[0])
    session = callers.open_session()
    assert await callers.name_of({"origin": UI}, session) == "a session"
    now[0] = 12 * 3_600
    assert await callers.name_of({"origin": UI}, session) is None


async def test_a_session_goes_on_in_a_server_that_is_started_again() -> None:
    """With the same token, and with no other; nobody but a holder of the token makes one."""
    session = Callers(token=TOKEN, origins=[UI]).open_session()

    async def known(token: str, presented: str) -> bool:
        callers = Callers(token=token, origins=[UI])
        return await callers.name_of({"origin": UI}, presented) == "a session"

    assert await known(TOKEN, session)
    assert not await known("another token", session)
    assert not await known("", Callers(token="", origins=[UI]).open_session())
    later = f"9{session}"
    for made_up in (later, session[:-1], session.replace(".", "", 1), "", ".", "a.b.c", "\x80.b"):
        assert not await known(TOKEN, made_up)


def signed(key: ECKey = SIGNING, **claims: Any) -> dict[str, str]:
    told = {
        "sub": "u1",
        "email": "ada@example.com",
        "aud": "codec",
        "iss": "https://login.example.com",
        "exp": int(time.time()) + 60,
        **claims,
    }
    told = {name: value for name, value in told.items() if value is not None}
    return {"Authorization": "Bearer " + jwt.encode({"alg": "ES256", "kid": "s1"}, told, key)}


async def test_an_access_token_of_the_ui_is_taken() -> None:
    callers = Callers(access_tokens=access_tokens())
    answer = await served(callers).post("/decode", json=await encrypted(), headers=signed())
    assert answer.status_code == 200
    lower = {"authorization": signed()["Authorization"]}
    assert await callers.name_of(lower, None) == "ada@example.com"


@pytest.mark.parametrize(
    "headers",
    [
        signed(aud="another"),
        signed(aud=None),
        signed(iss="https://evil.example"),
        signed(exp=int(time.time()) - 600),
        signed(exp=None),
        signed(ECKey.generate_key("P-256", {"kid": "s1"})),
        {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJjb2RlYyJ9."},
        {"Authorization": "Bearer not.a.token"},
        {"Authorization": "Bearer ü"},
    ],
    ids=["audience", "none", "issuer", "late", "for ever", "another key", "alg", "no", "text"],
)
async def test_an_access_token_for_others_is_refused(headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    callers = Callers(access_tokens=access_tokens())
    answer = await served(callers).post("/decode", json=await encrypted(), headers=raw)
    assert answer.status_code == 401


async def test_a_provider_that_gives_no_keys_lets_nobody_in() -> None:
    async def away(url: str) -> bytes:
        raise httpx.ConnectError("away")

    tokens = AccessTokens("https://login.example.com/jwks.json", audience="codec", fetch=away)
    assert await tokens.claims_of(signed()["Authorization"].removeprefix("Bearer ")) is None


@pytest.mark.parametrize(
    ("source", "audience"), [("http://login.example.com/keys", "codec"), ("keys.json", "")]
)
def test_access_tokens_are_checked_for_real(source: str, audience: str) -> None:
    with pytest.raises(UsageError):
        AccessTokens(source, audience=audience)
