"""Messages of sessions: guarded calls of a loop that runs anywhere, without a planner."""

import hashlib
import json
from datetime import timedelta
from typing import Final, Literal

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.saga.ledger import Ledger

KEY_PATTERN: Final = r"[a-z0-9][a-z0-9_-]{0,39}"
"""Keys of calls, in sagas and sessions."""
LONGEST_IDLE: Final = timedelta(days=30)

OnIdle = Literal["rollback", "park"]
SessionEnd = Literal["complete", "rollback"]
SessionStatus = Literal["completed", "rolled_back"]


class SessionTerms(Record):
    """The terms of a session, from its start to its end."""

    budget: Money | None = None
    requester: str = ""
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    idle_limit: timedelta = Field(
        default=timedelta(hours=1),
        ge=timedelta(seconds=1),
        le=LONGEST_IDLE,
        description="how long nobody may touch it while no call is under way",
    )
    on_idle: OnIdle = Field(default="rollback", description="what happens then")

    @property
    def terms(self) -> "SessionTerms":
        """The terms alone, without the fields of a subclass."""
        return SessionTerms(**shared_fields(self, SessionTerms))

    @property
    def digest(self) -> str:
        """A digest of the terms, for comparing starts under one id."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class WantedCall(Record):
    """A call to begin."""

    tool: str = Field(max_length=200)
    arguments: JsonObject = Field(default_factory=dict)
    reason: str = Field(default="", max_length=2_000, description="for people who read its card")
    key: str = Field(pattern=f"^{KEY_PATTERN}$", description="names the call: it is made once")

    @property
    def digest(self) -> str:
        """A digest of the tool and the arguments, for comparing calls of one key."""
        text = json.dumps([self.tool, self.arguments], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SessionCall(Record):
    """A call of a session, with its outcome when it has one."""

    call_id: str
    tool: str
    digest: str
    wanted: WantedCall | None = Field(default=None, description="None: it has been begun")
    outcome: str = Field(default="", description="as in ToolCallFailed, or cancelled; empty: open")
    reason: str = Field(default="", description="why it did not succeed")
    hint: str = Field(default="", description="the change that a person asks for")
    body: JsonValue = None
    is_body_dropped: bool = Field(default=False, description="only newer calls keep their bodies")


class CallQuery(Record):
    """A question about the outcome of a call."""

    call_id: str = Field(max_length=60)


class EndSession(Record):
    """The request to end a session."""

    how: SessionEnd
    reason: str = Field(default="", max_length=2_000)


class SessionOffer(Record):
    """The request for tools to show to an agent."""

    tools: tuple[str, ...]
    request: str = Field(default="", description="selects the tools that fit it; empty: all")


class SessionWatch(Record):
    """The request of a workflow for a signal with the outcome of a call."""

    call_id: str
    workflow_id: str


class SessionResult(Record):
    """A session that is over."""

    session_id: str
    saga_id: str
    status: SessionStatus
    reason: str = Field(default="", description="why it was rolled back")
    calls: tuple[SessionCall, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)


class BeginCall(WantedCall):
    """A call of a session, as a Nexus operation takes it."""

    session_id: str
    key: str = Field(default="", description="empty: the id of the Nexus request")


class SessionCallRef(Record):
    """A call of a session by its id, as Nexus operations take and return it."""

    session_id: str
    call_id: str


class SessionRef(Record):
    """A session by its id, as Nexus operations take and return it."""

    session_id: str
    saga_id: str = ""
    reason: str = Field(default="", description="why it is rolled back")


class OpenSession(SessionTerms):
    """The terms of a session, as a Nexus operation takes them."""

    session_id: str = Field(default="", description="empty: derived from the Nexus request")
