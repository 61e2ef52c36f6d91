"""`python -m tests.benchmarks.injection.dojo PORT`: AgentDojo's environments over HTTP.

Whoever starts it opens a world per mission; a tool's call finds the world of its mission by the
`X-Request-Id` that the orchestrator sends, which begins with the mission's id.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.injection.dojo.world import (
    Refused,
    World,
    arguments_of,
    listing,
    open_world,
)

_WORLDS: dict[str, World] = {}
_TURN = threading.Lock()
"""AgentDojo's environments know no threads."""


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        match parts.path.split("/")[1:]:
            case ["suites"]:
                host, port = self.server.server_address[:2]
                self._answer(200, listing(f"http://{host!s}:{port}"))
            case ["worlds", mission]:
                with _TURN:
                    self._answer(200, _WORLDS[mission].witnessed())
            case [suite, function]:
                query = parse_qs(parts.query, keep_blank_values=True)
                self._call(suite, function, query)
            case _:
                self._answer(404, {"detail": "there is no such path"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match self.path.split("/")[1:]:
            case ["worlds", mission]:
                with _TURN:
                    _WORLDS[mission] = open_world(**body)
                    self._answer(200, _WORLDS[mission].task())
            case [suite, function]:
                self._call(suite, function, body)
            case _:
                self._answer(404, {"detail": "there is no such path"})

    def do_DELETE(self) -> None:
        _WORLDS.pop(self.path.rpartition("/")[2], None)
        self._answer(200, {})

    def _call(self, suite: str, function: str, given: dict[str, Any]) -> None:
        world = _WORLDS.get(self.headers.get("X-Request-Id", "").partition(".")[0])
        if world is None or world.suite.name != suite:
            self._answer(404, {"detail": "no such account"})
            return
        try:
            with _TURN:
                if self.command == "GET":
                    given = arguments_of(given, suite, function)
                result = world.call(function, given, self.headers.get("Idempotency-Key", ""))
        except Refused as refused:
            self._answer(422, {"title": "Not done", "detail": str(refused)})
        else:
            self._answer(200, {"result": result})

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: whoever runs it reads the figures."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Door) as server:
        server.serve_forever()
