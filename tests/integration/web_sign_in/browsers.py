"""A service on a real socket, the issuer next to it, and a browser that signs in."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx
import uvicorn
from starlette.types import ASGIApp

from orchestrator.proxy.server import ReadyServer, address_of, listen
from orchestrator.runtime.devserver import Ports

NOBODYS: dict[str, Any] = {"trust_env": False, "follow_redirects": False, "timeout": 30.0}
HTML = {"Accept": "text/html"}
_ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def served(make: Callable[[str], ASGIApp]) -> AsyncIterator[str]:
    """Serve the app that is made for an address; yield the address."""
    listener, ready = listen("127.0.0.1", 0), asyncio.Event()
    url = address_of(listener)
    config = uvicorn.Config(
        make(url), lifespan="off", ws="none", log_config=None, proxy_headers=False
    )
    server = ReadyServer(config, ready.set, is_guest=True)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await ready.wait()
    try:
        yield url
    finally:
        server.should_exit = True
        await serving


@dataclass
class Issuer:
    """The issuer's process."""

    port: int = field(default_factory=lambda: free_port())
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        """Start it."""
        command = [sys.executable, "-m", "tests.oidc_issuer", str(self.port)]
        quiet = subprocess.DEVNULL
        self.process = await asyncio.create_subprocess_exec(
            *command, cwd=_ROOT, stdout=quiet, stderr=quiet
        )
        async with httpx.AsyncClient(**NOBODYS) as http:
            for _ in range(300):
                try:
                    await http.get(f"{self.url}/jwks")
                    return self
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        raise TimeoutError("the issuer does not answer")

    async def __aexit__(
        self, *_: type[BaseException] | BaseException | TracebackType | None
    ) -> None:
        """Stop it."""
        if self.process is not None:
            self.process.kill()
            await self.process.wait()

    async def user(self, sub: str, **claims: Any) -> str:
        """Set the claims of a user; those of the protocol replace the issuer's own."""
        async with httpx.AsyncClient(**NOBODYS) as http:
            answer = await http.put(f"{self.url}/users/{sub}", json=claims)
            assert answer.is_success
        return sub

    async def id_token(self, sub: str) -> str:
        """Return a token that the issuer signs for a user, with the claims of that user."""
        asked = {
            "client_id": "machine",
            "response_type": "code",
            "scope": "openid email",
            "redirect_uri": "http://127.0.0.1/none",
        }
        async with httpx.AsyncClient(**NOBODYS) as http:
            answer = await http.post(
                f"{self.url}/oauth2/authorize", params=asked, data={"sub": sub}
            )
            exchanged = {
                "grant_type": "authorization_code",
                "code": _query(answer)["code"],
                "redirect_uri": asked["redirect_uri"],
            }
            answer = await http.post(
                f"{self.url}/oauth2/token", data=exchanged, auth=("machine", "any")
            )
        return str(answer.json()["id_token"])


class Browser(httpx.AsyncClient):
    """A browser with cookies of its own, that stands on a page of the service."""

    def __init__(self, url: str) -> None:
        """Take the address of the service."""
        super().__init__(base_url=url, **NOBODYS)
        self.own = {"Origin": url, "Sec-Fetch-Site": "same-origin"}

    async def at_issuer(self, sub: str, **asked: str) -> str:
        """Begin a sign-in, and answer at the issuer as a user; return the address it leads to."""
        begun = await self.get("/sign-in", params=asked)
        assert begun.status_code == 303, begun.text
        async with httpx.AsyncClient(**NOBODYS) as elsewhere:
            answer = await elsewhere.post(begun.headers["location"], data={"sub": sub})
        assert answer.status_code == 302, answer.text
        return str(answer.headers["location"])

    async def sign_in(self, sub: str, **asked: str) -> httpx.Response:
        """Sign in as a user; return the answer to the return from the issuer."""
        return await self.get(await self.at_issuer(sub, **asked), headers=HTML)

    async def form_token(self) -> str:
        """Return the token in a form of the service's own pages."""
        page = await self.get("/sign-out", headers=HTML)
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text)
        assert found is not None, page.text
        return found[1]

    async def send_form(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of a page of the service, with its token."""
        fields["csrf_token"] = await self.form_token()
        return await self.post(path, data=fields, headers={**HTML, **self.own})


def query_of(address: str) -> dict[str, str]:
    """Return the parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def _query(answer: httpx.Response) -> dict[str, str]:
    return query_of(answer.headers["location"])


def free_port() -> int:
    """Return a port that nobody listens on, of those that no outgoing connection is given."""
    return Ports.free().sandbox
