"""Environments over HTTP: one for each mission, found by the `X-Request-Id` of a call.

Standard library alone: it runs in AgentDojo's own environment as well as in the tests'.
"""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit


class Refused(Exception):
    """A call that is not done; the text says why."""


class ServedEnvironment(Protocol):
    """What one mission finds, and the witness of what it does."""

    def task(self) -> dict[str, Any]:
        """What is asked for, what does it, and what the injection wants, as calls."""
        ...

    def witnessed(self) -> dict[str, Any]:
        """The consequences that arrived, and whether task and attack were carried out."""
        ...

    def call(
        self, suite: str, function: str, given: Mapping[str, Any], key: str, *, is_query: bool
    ) -> Any:
        """Carry out a call; what a query gives are lists of texts.

        Raises:
            Refused: it is not done.
        """
        ...


class EnvironmentServer(ThreadingHTTPServer):
    """`POST /environments/MISSION` opens an environment; the calls of that mission find it."""

    daemon_threads = True

    def __init__(
        self,
        open_environment: Callable[..., ServedEnvironment],
        listing: Callable[[str], dict[str, Any]],
        *,
        port: int = 0,
    ) -> None:
        """Take what makes an environment, and what lists the suites of a server's URL."""
        super().__init__(("127.0.0.1", port), _Request)
        self.open_environment = open_environment
        self.listing = listing
        self.environments: dict[str, ServedEnvironment] = {}
        self.turn = threading.Lock()
        """Environments know no threads."""

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server_port}"


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EnvironmentServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        match parts.path.split("/")[1:]:
            case ["suites"]:
                self._answer(200, self.server.listing(self.server.url))
            case ["environments", mission]:
                with self.server.turn:
                    self._answer(200, self.server.environments[mission].witnessed())
            case [suite, function]:
                self._call(suite, function, parse_qs(parts.query, keep_blank_values=True))
            case _:
                self._answer(404, {"detail": "there is no such path"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match self.path.split("/")[1:]:
            case ["environments", mission]:
                with self.server.turn:
                    environment = self.server.open_environment(**body)
                    self.server.environments[mission] = environment
                    self._answer(200, environment.task())
            case [suite, function]:
                self._call(suite, function, body)
            case _:
                self._answer(404, {"detail": "there is no such path"})

    def do_DELETE(self) -> None:
        self.server.environments.pop(self.path.rpartition("/")[2], None)
        self._answer(200, {})

    def _call(self, suite: str, function: str, given: Mapping[str, Any]) -> None:
        environment = self.server.environments.get(
            self.headers.get("X-Request-Id", "").partition(".")[0]
        )
        if environment is None:
            self._answer(404, {"detail": "no such account"})
            return
        try:
            with self.server.turn:
                key = self.headers.get("Idempotency-Key", "")
                answer = environment.call(
                    suite, function, given, key, is_query=self.command == "GET"
                )
        except Refused as refused:
            self._answer(422, {"title": "Not done", "detail": str(refused)})
        else:
            self._answer(200, answer)

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: whoever runs it reads the figures."""
