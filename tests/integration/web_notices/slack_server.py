"""Slack's API on loopback: takes calls as slack-sdk sends them, and keeps the messages."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "xoxb-planted-token"


@dataclass
class SlackServer:
    """A workspace: messages by channel and timestamp, and what each method was called with."""

    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    script: dict[str, list[tuple[int, dict[str, Any], dict[str, str]]]] = field(
        default_factory=dict
    )
    """Answers of a method before its usual ones: status, body, headers."""
    url: str = ""

    def answer(
        self, method: str, token: str, arguments: dict[str, Any]
    ) -> tuple[int, dict[str, Any], dict[str, str]]:
        """Return status, body and headers for a call."""
        self.calls.append((method, arguments))
        if token != f"Bearer {TOKEN}":
            return 200, {"ok": False, "error": "invalid_auth"}, {}
        if self.script.get(method):
            return self.script[method].pop(0)
        handler = getattr(self, f"_{method.replace('.', '_')}", None)
        return (200, handler(arguments) if handler else {"ok": True}, {})

    def _chat_postMessage(self, sent: dict[str, Any]) -> dict[str, Any]:
        ts = f"1700000000.{len(self.messages):06d}"
        self.messages[sent["channel"], ts] = sent
        return {"ok": True, "channel": sent["channel"], "ts": ts, "message": {"text": ""}}

    def _chat_update(self, sent: dict[str, Any]) -> dict[str, Any]:
        key = sent["channel"], sent["ts"]
        if key not in self.messages:
            return {"ok": False, "error": "message_not_found"}
        self.messages[key] = sent
        return {"ok": True, "channel": key[0], "ts": key[1], "text": ""}

    def _conversations_history(self, sent: dict[str, Any]) -> dict[str, Any]:
        found = [
            {"ts": ts, **message}
            for (channel, ts), message in self.messages.items()
            if channel == sent["channel"]
        ]
        return {"ok": True, "messages": found}

    def shown(self) -> list[str]:
        """Return the text of each message as it is now."""
        return [str(message) for message in self.messages.values()]


@contextmanager
def slack() -> Iterator[SlackServer]:
    """Listen on a free port."""
    workspace = SlackServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            is_json = "json" in self.headers.get("Content-Type", "")
            arguments = json.loads(raw) if is_json else _form(raw)
            self._answer(arguments)

        def do_GET(self) -> None:
            self._answer(_form(urlsplit(self.path).query))

        def _answer(self, arguments: dict[str, Any]) -> None:
            method = urlsplit(self.path).path.rpartition("/")[2]
            token = self.headers.get("Authorization", "")
            status, body, headers = workspace.answer(method, token, arguments)
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    workspace.url = f"http://127.0.0.1:{server.server_port}/api/"
    try:
        yield workspace
    finally:
        server.shutdown()
        server.server_close()


def _form(text: str) -> dict[str, Any]:
    """Read a form as Slack does: some of its fields are JSON."""
    read: dict[str, Any] = {name: values[0] for name, values in parse_qs(text).items()}
    for name in ("blocks", "metadata", "view"):
        if name in read:
            read[name] = json.loads(read[name])
    return read
