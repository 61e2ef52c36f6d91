"""What people see of missions, cards and sessions: records that the API returns and pages draw."""

from typing import Literal

from pydantic import Field

from orchestrator.client.call_progress import CallProgress
from orchestrator.client.mission_list import KnownMission
from orchestrator.confirmation.card_content import CardLine, CardSection
from orchestrator.confirmation.models import ConfirmationCard, DecisionReceipt
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.hold import HoldDecision
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.open_waits import Waiting
from orchestrator.saga.outcome import FollowUp
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import Problem


class Obstacle(Record):
    """Why a mission cannot continue now: no worker, or failing tasks."""

    code: str = Field(description="the error's name")
    detail: str = Field(description="what is wrong, and what to do")


class MissionView(Record):
    """A mission as it is now, with what it waits for."""

    result: MissionResult | None = Field(
        default=None, description="the result document; None: see `known`"
    )
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="calls that its effects and answers make possible next"
    )
    files: dict[str, str] = Field(
        default_factory=dict, description="names of the files that it received or sent, by handle"
    )
    waits: Waiting = Field(
        default_factory=Waiting, description="the cards, questions and pauses that it waits for"
    )
    progress: tuple[CallProgress, ...] = Field(
        default=(), description="calls that take long, and their attempts"
    )
    obstacle: Obstacle | None = Field(default=None, description="None: it can continue")
    may_change: bool = Field(
        default=False, description="True if the caller may answer, cancel or roll it back"
    )
    known: KnownMission | None = Field(
        default=None, description="the server's facts, if its history cannot be read here"
    )


class CardView(Record):
    """An open card with the texts to show, and whether the caller may decide."""

    card: ConfirmationCard
    may_decide: bool = Field(description="True if the caller may decide on it")
    purpose: tuple[CardLine, ...] = Field(
        default=(), description="the goal, the agent and its reason, which nothing proves"
    )
    sections: tuple[CardSection, ...] = Field(
        default=(), description="what the call does, to be shown whole before it is approved"
    )
    oversight: tuple[CardLine, ...] = Field(
        default=(), description="requester, approvers, and approvals so far"
    )


def card_view(card: ConfirmationCard, person: Person) -> CardView:
    """Return a card as a person sees it."""
    return CardView(
        card=card,
        may_decide=person.may_decide(card),
        purpose=card.purpose(),
        sections=card.sections(),
        oversight=card.oversight(),
    )


class Waits(Record):
    """The questions, holds and pauses that the caller sees, first to expire first."""

    questions: tuple[Question, ...] = ()
    pauses: tuple[ModelPause, ...] = ()
    next: str | None = Field(default=None, description="the cursor of the next page")


class Repair(Record):
    """A decision on a hold: what follows a failure before its effects are cancelled."""

    decision: HoldDecision = Field(
        description="repair: it goes on from there; roll back: all that stands is cancelled; "
        "keep: it ends as incomplete, and all that stands is left standing"
    )
    arguments: JsonObject = Field(
        default_factory=dict,
        description="of a repair: changed arguments of the failed call, which has its own card",
    )
    hint: str = Field(default="", max_length=2000, description="of a repair: for the planner")
    limit: str = Field(
        default="", max_length=40, description="of a repair: the limit that was reached, raised"
    )

    @property
    def values(self) -> JsonObject:
        """The answer to the hold's question."""
        rest = {name: getattr(self, name) for name in ("arguments", "hint", "limit")}
        return {"decision": self.decision, **{name: one for name, one in rest.items() if one}}


class DecisionOutcome(Record):
    """The outcome of one of several decisions."""

    confirmation_id: str
    status: int = Field(description="the HTTP status that the decision alone would have had")
    receipt: DecisionReceipt | None = Field(default=None, description="None: it was refused")
    problem: Problem | None = Field(default=None, description="why it was refused")


SessionStatus = Literal["open", "completed", "rolled_back", "stopped"]


class SessionView(Record):
    """A session as it is now."""

    session_id: str
    saga_id: str = Field(description="the id in its cards and of its rollback")
    status: SessionStatus = Field(
        description="stopped: ended from outside, and what it made is cancelled"
    )
    requester: str = ""


class Me(Record):
    """The caller: identity, rights, and what they see."""

    subject: str = Field(description="the name in policies and records")
    name: str = ""
    issuer: str = ""
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    rights: tuple[Right, ...] = ()
    sees_all: bool = Field(description="False: only missions of their own, and cards to decide")
    proved_by: str
