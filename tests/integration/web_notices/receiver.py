"""A receiver of webhooks on loopback, which checks signatures with the specification's library."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD_SECRET = "whsec_T2xkU2VjcmV0T2xkU2VjcmV0T2xkU2VjcmV0"


@dataclass
class Answer:
    """How one request is answered."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass
class Received:
    """A webhook whose signature was right."""

    message_id: str
    body: dict[str, Any]
    at: float


@dataclass
class Receiver:
    """Keeps what arrives; answers by its script, and then with 200."""

    secret: str = SECRET
    script: list[Answer] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    forged: list[str] = field(default_factory=list)
    url: str = ""
    before_answer: Callable[[Received], None] | None = None
    gone: Event = field(default_factory=Event)

    def take(self, body: bytes, headers: dict[str, str]) -> Answer:
        """Check a request as a receiver does, and return its answer."""
        try:
            content = Webhook(self.secret).verify(body, headers)
        except WebhookVerificationError as error:
            self.forged.append(str(error))
            return Answer(400)
        got = Received(headers["webhook-id"], content, time.monotonic())
        self.received.append(got)
        if self.before_answer is not None:
            self.before_answer(got)
        return self.script.pop(0) if self.script else Answer()

    def of(self, event: str, wait_id: str = "") -> list[Received]:
        """Return what arrived of one kind of event."""
        return [
            one
            for one in self.received
            if one.body["type"] == event
            and wait_id in ("", one.body["data"].get("confirmation_id"))
        ]


@contextmanager
def receiving(given: Receiver | None = None) -> Iterator[Receiver]:
    """Listen on a free port."""
    receiver = given or Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = receiver.take(body, headers)
            receiver.gone.wait(answer.after_s)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook/a-path-that-is-a-secret"
    try:
        yield receiver
    finally:
        receiver.gone.set()
        server.shutdown()
        server.server_close()
