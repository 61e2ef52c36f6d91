"""Service: what every request handler may use."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.routing import Route

from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import ConfirmationCard, Decision
from orchestrator.settings import Settings
from orchestrator.web.people import Person
from orchestrator.web.request_limits import Limits
from orchestrator.web.shared_feed import SharedFeed

if TYPE_CHECKING:  # a database library, and an extra
    from orchestrator.adapters.storage.store import Store
    from orchestrator.web.notices.slack_interactions import SlackDoor

Identify = Callable[[HTTPConnection], Awaitable[Person | None]]
"""Returns who sends a request; None if nothing proves it."""


class DecisionSigner(Protocol):
    """Signs decisions for people who are signed in, with the key of this service."""

    def sign(
        self, decision: Decision, *, digest: str, person: Person, card: ConfirmationCard
    ) -> Decision:
        """Return the decision with a signature that names the person, or raise what they lack."""
        ...


@dataclass(frozen=True)
class Door:
    """What stands between the network and the handlers: checks of requests, and sign-in."""

    middleware: Sequence[Middleware] = ()
    routes: Sequence[Route] = ()


@dataclass(frozen=True)
class Service:
    """The connections and settings of one process."""

    client: MissionClient
    settings: Settings
    identify: Identify
    signer: DecisionSigner | None = None
    """None: decisions are not signed."""
    url: str = ""
    """The address by which browsers reach it; empty: that of the request."""
    limits: Limits = field(default_factory=Limits)
    """What the service takes from one sender."""
    streams: Counter[str] = field(default_factory=Counter)
    """The open streams of each person."""
    feed: SharedFeed = field(default_factory=SharedFeed)
    """What the streams of this process have in common; others read their own."""
    store: "Store | None" = None
    """Keeps API tokens, ended sessions and how notices were delivered; None: there are none."""
    door: Door = Door()
    """By default none, as tests of single pages need it; `orchestrator serve` always has one."""
    slack: "SlackDoor | None" = None
    """None: nobody decides in Slack."""
    metrics_text: Callable[[], tuple[bytes, str]] | None = None
    """Returns the text of /metrics and its content type; None: no metrics are served."""
