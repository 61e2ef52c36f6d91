"""The parts of a worker that announce cards and questions, from its settings."""

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Final

from temporalio.client import Client

from orchestrator.activities.notice_activities import FeedReader, NoticeActivities
from orchestrator.adapters.notices.notice_desk import NoticeDesk
from orchestrator.adapters.notices.notice_rules import SlackApp
from orchestrator.adapters.secrets import EnvironmentSecrets, SecretStore
from orchestrator.adapters.temporal.plain_records import client_for_records
from orchestrator.client.connection import Connection
from orchestrator.client.mission_feed import mission_feed
from orchestrator.client.waits import open_card, open_question, requester_of
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import CardUnknown, MissionNotFound, UsageError
from orchestrator.messages.events import AnyEvent, Cursor
from orchestrator.settings import Settings, load_notice_rules

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.notices.slack_api import SlackApi
    from orchestrator.adapters.storage.store import Store

EXTRA: Final = "pip install 'orchestrator-missions[notices]'"


def default_notices(settings: Settings, client: Client, store: "Store") -> NoticeActivities | None:
    """Return the activities of notices; None if the settings name no configuration."""
    rules = load_notice_rules(settings.notices)
    if rules is None:
        return None
    try:
        from orchestrator.adapters.notices.webhooks import WebhookSender
    except ImportError as missing:
        raise UsageError(f"notices need the extra notices: {EXTRA}") from missing
    secrets = EnvironmentSecrets()
    connection = Connection(client_for_records(client), settings.task_queue)
    proxy = settings.proxy.get_secret_value() if settings.proxy is not None else None

    def feed(cursor: str, swept: Callable[[Cursor], None]) -> AsyncGenerator[AnyEvent, None]:
        queue = settings.task_queue  # others have workers of their own, which announce
        return mission_feed(connection, after=cursor or None, swept=swept, task_queue=queue)

    async def requester(mission_id: str) -> str:
        try:
            return await requester_of(connection, mission_id)
        except MissionNotFound:
            return ""

    async def card(confirmation_id: str) -> ConfirmationCard | None:
        try:
            return await open_card(connection, confirmation_id)
        except CardUnknown:
            return None

    async def question_is_open(question_id: str) -> bool:
        return await open_question(connection, question_id) is not None

    slack = None
    if rules.slack is not None:
        from orchestrator.adapters.notices.slack_api import SlackMessages

        slack = SlackMessages(
            slack_api(rules.slack, settings, secrets),
            open_card=card,
            shown=store.notices.shown,
            link=rules.link,
        )
    desk = NoticeDesk(
        rules,
        store.notices,
        WebhookSender(secrets, allowed_private_hosts=settings.allowed_private_hosts, proxy=proxy),
        open_card=card,
        question_is_open=question_is_open,
        slack=slack,
    )
    return NoticeActivities(FeedReader(feed, rules, requester), desk)


def slack_api(app: SlackApp, settings: Settings, secrets: SecretStore) -> "SlackApi":
    """Return the calls of a workspace's API, within the rules for leaving this installation."""
    try:
        from orchestrator.adapters.notices.slack_api import SlackApi
    except ImportError as missing:
        raise UsageError(f"Slack needs the extra notices: {EXTRA}") from missing
    return SlackApi(
        app,
        secrets,
        allowed_private_hosts=settings.allowed_private_hosts,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
    )
