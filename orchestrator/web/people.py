"""People and machines that send requests: their roles, rights, and the missions they see."""

from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from orchestrator.confirmation.deciders import approver_refusal
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.policy import is_same_person
from orchestrator.core.record import Record


class Right(StrEnum):
    """Kinds of requests, as rights distinguish them."""

    READ = "read"
    START = "start"
    """Start missions and sessions; answer, cancel and roll back one's own."""
    DECIDE = "decide"
    """Decide on cards. The policy of each card says in addition who may."""
    OPERATE = "operate"
    """Answer, cancel, repair and roll back missions of others; resolve parked obligations."""
    ADMINISTER = "administer"
    """Make and revoke API tokens."""


class Role(StrEnum):
    """A set of rights, by the name in the configuration."""

    VIEWER = "viewer"
    REQUESTER = "requester"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"


RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    Role.VIEWER: frozenset({Right.READ}),
    Role.REQUESTER: frozenset({Right.READ, Right.START}),
    Role.APPROVER: frozenset({Right.READ, Right.DECIDE}),
    Role.OPERATOR: frozenset({Right.READ, Right.START, Right.OPERATE}),
    Role.ADMIN: frozenset(Right),
}
"""The rights of each role. Nobody may do what none of their roles permits."""


class Person(Record):
    """A person or machine whose identity was proved by the way of `proved_by`."""

    subject: str = Field(description="the name in policies and records, such as an e-mail address")
    name: str = Field(default="", description="the name to show; empty: the subject")
    issuer: str = Field(default="", description="who vouches for the subject")
    roles: tuple[Role, ...] = ()
    groups: tuple[str, ...] = Field(
        default=(), description="groups at the issuer, which approver rules list as group:NAME"
    )
    sees_all: bool = Field(default=False, description="False: only missions of their own")
    proved_by: Literal["loopback", "cookie", "api token", "access token", "slack"]
    signed_in_at: datetime | None = Field(default=None, description="the issuer's auth_time")
    scopes: tuple[Right, ...] | None = Field(
        default=None, description="rights that an API token is limited to; None: no limit"
    )

    @property
    def rights(self) -> frozenset[Right]:
        """The rights of all roles, within the scopes of the token."""
        rights = frozenset(right for role in self.roles for right in RIGHTS[role])
        return rights if self.scopes is None else rights & frozenset(self.scopes)

    def may(self, right: Right) -> bool:
        """Return True if one of the roles has the right."""
        return right in self.rights

    def owns(self, requester: str) -> bool:
        """Return True if this person asked for a mission with that requester."""
        return bool(requester) and is_same_person(self.subject, requester)

    def may_decide(self, card: ConfirmationCard) -> bool:
        """Return True if the card's rules let this person decide on it.

        Groups count for cards whose decisions are signed: a signature alone proves them.
        """
        refusal = approver_refusal(
            self.subject,
            (card.approvers, card.operators_approvers),
            requester=card.requester,
            requester_may_approve=card.requester_may_approve,
            groups=self.groups if card.signed else (),
        )
        return self.may(Right.DECIDE) and refusal is None

    def may_change(self, requester: str) -> bool:
        """Return True if this person may answer, cancel or roll back a requester's mission."""
        return self.may(Right.OPERATE) or (self.may(Right.START) and self.owns(requester))
