"""The configuration of notices: channels, routes, and the people of Slack."""

from collections.abc import Iterator
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from orchestrator.adapters.http.destinations import origin_of
from orchestrator.messages.notice import Delivery, Notice, NoticeEvent

SLACK_API: Final = "https://slack.com/api/"
_NAME: Final = r"^[a-z0-9][a-z0-9_-]{0,39}$"
_SECRET: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,79}$"
SecretName = Annotated[str, Field(pattern=_SECRET)]


def _seconds(value: object) -> object:
    """Read a plain number as seconds, as tool contracts do."""
    return timedelta(seconds=value) if isinstance(value, int | float) else value


Wait = Annotated[timedelta, BeforeValidator(_seconds), Field(gt=timedelta(0))]


class Configured(BaseModel):
    """A part of the file; a key that nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class WebhookChannel(Configured):
    """A receiver of webhooks by the Standard Webhooks specification."""

    webhook: str = Field(description="https URL")
    secrets: tuple[SecretName, ...] = Field(
        min_length=1, description="names of secrets; all of them sign, while one replaces another"
    )
    events: tuple[NoticeEvent, ...] = Field(default=(), description="empty: all")

    @field_validator("webhook")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if origin_of(url) is None or urlsplit(url).fragment:
            raise ValueError("give an https:// URL without user name and fragment")
        return url

    @property
    def host(self) -> str:
        """The host of the receiver, which logs and errors name in place of the URL."""
        return urlsplit(self.webhook).hostname or ""


class SlackChannel(Configured):
    """A channel, or a person's direct messages, in Slack."""

    slack: str = Field(pattern=r"^[CGDU][A-Z0-9]{2,30}$", description="id of a channel or a user")
    events: tuple[NoticeEvent, ...] = Field(default=(), description="empty: all")


class SlackApp(Configured):
    """The app of one workspace, and the identities of its people."""

    token: SecretName = "slack_token"
    signing_secret: SecretName = "slack_signing_secret"
    team: str = Field(default="", description="id of the workspace; others are refused")
    people: dict[str, str] = Field(
        default_factory=dict, description="user id to the name in policies and records"
    )
    by_email: bool = Field(
        default=False,
        description="people that are not listed are known by the e-mail address of their profile",
    )
    email_domains: tuple[str, ...] = Field(
        default=(), description="domains of these addresses; required with by_email"
    )
    api: str = Field(default=SLACK_API, description="address of Slack's API")

    @model_validator(mode="after")
    def _names_domains(self) -> Self:
        if self.by_email and not self.email_domains:
            raise ValueError("by_email needs email_domains: guests bring addresses of their own")
        return self


class Route(Configured):
    """The notices that go to these channels; patterns as in policies, empty for any."""

    channels: tuple[str, ...] = Field(
        min_length=1, description="the next one is for notices that the one before cannot deliver"
    )
    card_types: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    requesters: tuple[str, ...] = ()
    events: tuple[NoticeEvent, ...] = ()
    next_after: Wait | None = None

    def takes(self, notice: Notice) -> bool:
        """Return True if a notice goes to these channels.

        A question has neither tool nor card type: a route that names some takes no question.
        """
        return (
            (not self.events or notice.event in self.events)
            and _matches(self.card_types, notice.card_type)
            and _matches(self.tools, notice.tool)
            and _matches(tuple(map(str.lower, self.requesters)), notice.requester.lower())
        )


class NoticeRules(Configured):
    """The whole configuration."""

    inbox: str = Field(default="", description="public URL of the inbox, for links")
    next_after: Wait = Field(
        default=timedelta(minutes=5),
        description="after it an undelivered notice goes to the next channel of its route",
    )
    give_up_after: Wait = Field(
        default=timedelta(hours=24), description="time for the last channel of a route"
    )
    channels: dict[Annotated[str, Field(pattern=_NAME)], WebhookChannel | SlackChannel]
    routes: tuple[Route, ...] = Field(min_length=1)
    slack: SlackApp | None = None

    @field_validator("inbox")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if url and origin_of(url) is None:
            raise ValueError("give the http:// or https:// URL at which people open the inbox")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        for number, route in enumerate(self.routes, 1):
            for name in route.channels:
                if name not in self.channels:
                    raise ValueError(f"route {number} names {name!r}, which is no channel")
            if len(set(route.channels)) < len(route.channels):
                raise ValueError(f"route {number} names a channel twice")
        if self.slack is None and any(isinstance(c, SlackChannel) for c in self.channels.values()):
            raise ValueError("a channel is in Slack: add slack: with token and signing_secret")
        return self

    def deliveries(self, notice: Notice) -> Iterator[Delivery]:
        """Yield the deliveries of a notice, one for each route; no channel gets it twice."""
        taken: set[str] = set()
        for number, route in enumerate(self.routes):
            if not route.takes(notice):
                continue
            channels = [
                one
                for one in route.channels
                if one not in taken and wants(self.channels[one], notice)
            ]
            taken.update(channels)
            if channels:
                yield Delivery(
                    notice=notice,
                    channels=tuple(channels),
                    next_after=route.next_after or self.next_after,
                    give_up_after=self.give_up_after,
                    route=number,
                )

    def link(self, notice: Notice) -> str:
        """Return the address of the page for a notice; empty without an inbox."""
        if not self.inbox or not notice.wait_id:
            return self.inbox
        kind = "questions" if notice.event.startswith("question.") else "cards"
        return f"{self.inbox}/{kind}/{notice.wait_id}"

    def fallbacks(self, failed: tuple[str, ...]) -> tuple[str, ...]:
        """Return the channels that may report a notice which these channels did not deliver."""
        return tuple(name for name in self.channels if name not in failed)


def wants(channel: WebhookChannel | SlackChannel, notice: Notice) -> bool:
    """Return True if a channel shows notices of this kind."""
    return not channel.events or notice.event in channel.events


def channel_kind(channel: WebhookChannel | SlackChannel) -> Literal["webhook", "slack"]:
    """Return the kind of a channel, for metrics and lists."""
    return "webhook" if isinstance(channel, WebhookChannel) else "slack"


def _matches(patterns: tuple[str, ...], value: str) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns)
