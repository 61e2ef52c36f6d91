"""`orchestrator serve` as a process: with sign-in by its file, and with one local user."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from orchestrator.testing import eventually
from tests.commands import run_apart
from tests.forked import Command, Forked
from tests.integration.web_sign_in.browsers import Browser, Issuer, free_port

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

FILE = """
url: http://127.0.0.1:{port}
sign_in: {{issuer: "{issuer}", client_id: missions, client_secret: serve__client}}
roles: [{{person: "*@example.com", roles: [requester]}}]
signing_key: service.jwk
"""


@asynccontextmanager
async def serving(
    governed: Stack, folder: Path, *arguments: str, **variables: str
) -> AsyncIterator[Path]:
    """Run `orchestrator serve` until the block ends; yield what it prints."""
    printed = folder / "printed"
    printed.write_text("")

    async def is_ready() -> bool:
        return "inbox at" in printed.read_text()

    command = ("serve", *arguments)
    environment = {**governed.environment, **variables}
    process = Forked.start(Command(command, environment, stdout=printed, stderr=printed))
    try:
        await eventually(is_ready)
        yield printed
    finally:
        process.kill()
        await process.wait()


async def test_people_sign_in_at_the_process(
    governed: Stack, issuer: Issuer, tmp_path: Path
) -> None:
    """With a key that the command line has made, and the key of sessions in the state directory."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    made = await run_apart(
        "key", "approval", str(tmp_path / "service.jwk"), "--service", url,
        environment=governed.environment,
    )  # fmt: skip
    file = tmp_path / "serve.yaml"
    file.write_text(FILE.format(port=port, issuer=issuer.url))
    options = ("--config", str(file), "--listen", f"127.0.0.1:{port}")
    user = await issuer.user("u-ivo", email="ivo@example.com", email_verified=True)
    secret = {"ORCHESTRATOR_SECRET_SERVE__CLIENT": "planted-client-secret"}
    async with serving(governed, tmp_path, *options, **secret), Browser(url) as browser:
        back = await browser.sign_in(user, next="/api/v1/missions")
        seen = await browser.get("/api/v1/missions")
    kept = dict(browser.cookies)
    async with serving(governed, tmp_path, *options, **secret) as printed, Browser(url) as browser:
        browser.cookies.update(kept)
        still = await browser.get("/api/v1/missions")

    assert made.json["iss"] == url
    assert "sub" not in made.json
    assert (back.status_code, seen.status_code, still.status_code) == (303, 200, 200)
    assert "ivo@example.com" not in printed.read_text()
    assert "planted" not in printed.read_text()


async def test_the_local_user_signs_in_nowhere(governed: Stack, tmp_path: Path) -> None:
    """And a token that the command line makes has its own rights beside them."""
    made = await run_apart(
        "token", "--for", "ci@example.com", "--scope", "read", "--json",
        environment=governed.environment,
    )  # fmt: skip
    port = free_port()
    local = ("--local-user", "ana@example.com", "--listen", f"127.0.0.1:{port}")
    token = {"Authorization": f"Bearer {made.json['token']}"}
    async with (
        serving(governed, tmp_path, *local),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
    ):
        mine = await http.get("/api/v1/tokens")
        tokens = await http.get("/api/v1/tokens", headers=token)
        listed = await http.get("/api/v1/missions", headers=token)
        rebound = await http.get("/api/v1/missions", headers={"Host": f"evil.example:{port}"})
        foreign = await http.post(
            "/api/v1/tokens",
            content=json.dumps({"subject": "eve", "scopes": ["administer"]}),
            headers={"Origin": "https://evil.example", "Content-Type": "text/plain"},
        )

    assert (mine.status_code, tokens.status_code, listed.status_code) == (200, 403, 200)
    assert (rebound.status_code, foreign.status_code) == (421, 403)
    assert made.json["token"] not in mine.text


async def test_nobody_else_gets_in_without_sign_in(governed: Stack, tmp_path: Path) -> None:
    """Each mistake is one line that says what to give."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("url: https://x.example\nsignin: {}\n")
    unset = tmp_path / "unset.yaml"
    unset.write_text(FILE.format(port=8600, issuer="https://login.example.com"))
    for arguments in (
        (),
        ("--local-user", "ana", "--listen", "0.0.0.0:0"),
        ("--local-user", "ana", "--listen", "[::]:0"),
        ("--config", str(bad)),
        ("--config", str(tmp_path / "missing.yaml")),
        ("--config", str(unset)),
        ("--config", str(bad), "--local-user", "ana"),
        ("--config", str(bad), "--local-key", "ana.jwk"),
    ):
        ran = await run_apart("serve", *arguments, environment=governed.environment)

        assert ran.exit_code == 2, arguments
        assert ran.stderr.count("\n") == 1, ran.stderr
