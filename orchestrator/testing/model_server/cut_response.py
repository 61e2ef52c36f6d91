"""An answer that ends too early, as when a proxy or a provider dies."""

from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class CutResponse(Response):
    """So many bytes of a body; None: not even a status."""

    def __init__(
        self, content: bytes, after_bytes: int | None, hang_up: Callable[[Scope], None]
    ) -> None:
        super().__init__(content, media_type="application/json")
        self._after_bytes = after_bytes
        self._hang_up = hang_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is to be sent, and end the connection."""
        if self._after_bytes is not None:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            piece = self.body[: self._after_bytes]
            await send({"type": "http.response.body", "body": bytes(piece), "more_body": True})
        self._hang_up(scope)
        while (await receive())["type"] != "http.disconnect":
            pass
