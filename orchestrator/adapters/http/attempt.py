"""One call on its way: what it is, how far it got, and which tokens it carries."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.adapters.http.bodies import Files
from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.oauth import ClientGrant, ClientKey, Token
from orchestrator.adapters.telemetry.instruments import CallFacts
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import TransportFault


@dataclass
class Wire:
    """How far a request got: whether it was given to the transport, and what that reports."""

    begun: bool = False
    seen: bool = False
    sending: bool = False

    async def on_event(self, name: str, _: Mapping[str, object]) -> None:
        """Told by the transport at each step."""
        self.seen = True
        if name.endswith("send_request_headers.started"):
            self.sending = True

    @property
    def late_fault(self) -> TransportFault:
        """What it means that the time is over now.

        Nothing was sent when the transport was given nothing yet, or when it reports its steps and
        sending was not among them.
        """
        if not self.begun or (self.seen and not self.sending):
            return TransportFault.DEADLINE_BEFORE_SENDING
        return TransportFault.DEADLINE


@dataclass
class Attempt:
    """One call on its way."""

    endpoint: Endpoint
    call_id: str
    idempotency_key: str | None
    timeout_s: float
    facts: CallFacts
    mission_id: str = ""
    """Whose call it is; empty: no mission's."""
    arguments: JsonObject = field(default_factory=dict)
    """What the tool was called with, before personal values are put in."""
    files: Files = field(default_factory=dict, repr=False)
    """Those that it carries."""
    wire: Wire = field(default_factory=Wire)
    tokens: list[tuple[ClientGrant, ClientKey, Token]] = field(default_factory=list)
