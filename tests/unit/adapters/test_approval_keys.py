"""Where approval keys come from: read again when they change, refused when they cannot be had."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from orchestrator.adapters.approval_keys import (
    FRESH_S,
    STALE_S,
    ApprovalKeys,
    load_signing_key,
    write_signing_key,
)
from orchestrator.confirmation.signatures import SigningKey
from orchestrator.core.errors import DocumentUnreadable, ServiceUnavailable, UsageError

URL = "https://id.example.com/keys"


def key_set() -> str:
    """A new set of one key."""
    _, public = SigningKey.generate(issuer="example.com", subject="ann@example.com")
    return json.dumps({"keys": [public]})


class Clock:
    """Seconds that pass when a test says so."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """What answers at the URL, and how often it was asked."""

    def __init__(self) -> None:
        self.answer: Callable[[], httpx.Response] = lambda: httpx.Response(200, text=key_set())
        self.asked = 0
        self.clock = Clock()
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._serve))
        self.keys = ApprovalKeys(URL, http=client, clock=self.clock)

    def _serve(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        return self.answer()


@pytest.fixture
def site() -> Site:
    return Site()


async def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    """A key that an operator removes counts no more, at once."""
    path = tmp_path / "jwks.json"
    path.write_text(key_set())
    keys = ApprovalKeys(str(path))
    before = await keys.current()
    path.write_text(key_set())

    assert await keys.current() != before


@pytest.mark.parametrize(
    "content", [None, "", '{"keys": []}', '{"keys": [{"kty": "oct", "k": "x"}]}']
)
async def test_a_file_without_keys_approves_nothing(tmp_path: Path, content: str | None) -> None:
    """When a worker starts, and when it is lost later: never as if no keys were asked for."""
    path = tmp_path / "jwks.json"
    if content is not None:
        path.write_text(content)
    keys = ApprovalKeys(str(path))

    with pytest.raises(UsageError, match="ORCHESTRATOR_APPROVAL_KEYS"):
        keys.check()
    with pytest.raises(ServiceUnavailable):
        await keys.current()


async def test_a_url_is_asked_once_in_a_while(site: Site) -> None:
    """What it gave counts for some minutes, and then what it gives now."""
    first = await site.keys.current()
    site.clock.now += FRESH_S - 1
    again = await site.keys.current()
    site.clock.now += 1
    later = await site.keys.current()

    assert first == again != later
    assert site.asked == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda: httpx.Response(503),
        lambda: httpx.Response(302, headers={"location": "https://evil.example"}),
        lambda: httpx.Response(200, text="<html>"),
        lambda: httpx.Response(200, text=" " * 300_000 + key_set()),
    ],
    ids=["down", "moved", "something else", "too long"],
)
async def test_what_a_url_gave_last_counts_for_a_bounded_time(
    site: Site, answer: Callable[[], httpx.Response]
) -> None:
    """Then nothing is approved, until it answers again."""
    first = await site.keys.current()
    site.answer = answer
    site.clock.now += STALE_S - 1
    kept = await site.keys.current()
    site.clock.now += 1
    with pytest.raises(ServiceUnavailable, match=URL):
        await site.keys.current()
    site.answer = lambda: httpx.Response(200, text=key_set())
    site.clock.now += 10

    assert kept == first
    assert await site.keys.current() != first


async def test_a_url_that_never_answered_approves_nothing(site: Site) -> None:
    """And is not asked with every call."""
    site.answer = lambda: httpx.Response(503)
    for _ in range(3):
        with pytest.raises(ServiceUnavailable, match="503"):
            await site.keys.current()

    assert site.asked == 1


def test_keys_come_over_https_alone() -> None:
    """Anybody between could add a key."""
    with pytest.raises(UsageError, match="https"):
        ApprovalKeys("http://id.example.com/keys")


def test_a_private_key_is_for_its_owners_eyes(tmp_path: Path) -> None:
    """And is never replaced: what it had signed for could not be signed any more."""
    path = tmp_path / "ann.jwk"
    private, _ = SigningKey.generate(issuer="example.com", subject="ann@example.com")
    write_signing_key(path, json.dumps(private))

    with pytest.raises(UsageError, match="exists"):
        write_signing_key(path, "{}")
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_signing_key(path).subject == "ann@example.com"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"{}", b"-----BEGIN CERTIFICATE-----"])
def test_a_file_that_cannot_sign_is_named(tmp_path: Path, content: bytes | None) -> None:
    """In one sentence."""
    path = tmp_path / "ann.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(DocumentUnreadable, match=r"ann\.pem") as refused:
        load_signing_key(path)
    assert "\n" not in str(refused.value)
