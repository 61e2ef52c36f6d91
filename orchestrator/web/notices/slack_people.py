"""Who a user of Slack is: the person that the configuration, or a verified profile, names."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from orchestrator.adapters.notices.notice_rules import SlackApp
from orchestrator.web.people import Person, Role

Standing = Callable[[str, tuple[str, ...]], tuple[tuple[Role, ...], bool]]
"""Returns the roles of a subject with groups, and True if they see the missions of everybody."""
_NO_MEMBER: Final = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
"""Facts of a user who is no full member of the workspace: their profile proves nothing here."""
ISSUER: Final = "https://slack.com"


class Calls(Protocol):
    """Calls of Slack's API."""

    async def call(self, channel: str, method: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a call."""
        ...


class SlackPeople:
    """Finds the person behind a user id; a display name, which anybody may choose, counts not."""

    def __init__(self, app: SlackApp, api: Calls, standing: Standing) -> None:
        self._app = app
        self._api = api
        self._standing = standing

    async def person_of(self, user_id: str, team_id: str) -> Person | None:
        """Return the person of a user, None if nothing names them.

        Raises:
            NoticeUndelivered: Slack did not say who the user is.
        """
        if self._app.team and team_id != self._app.team:
            return None
        subject = self._app.people.get(user_id) or await self._by_email(user_id, team_id)
        if not subject:
            return None
        roles, sees_all = self._standing(subject, ())
        return Person(
            subject=subject, issuer=ISSUER, roles=roles, sees_all=sees_all, proved_by="slack"
        )

    async def _by_email(self, user_id: str, team_id: str) -> str:
        if not self._app.by_email:
            return ""
        answer = await self._api.call("slack", "users_info", user=user_id)
        user = answer.get("user")
        if not isinstance(user, dict) or any(user.get(fact) for fact in _NO_MEMBER):
            return ""
        if user.get("id") != user_id or user.get("team_id", team_id) != team_id:
            return ""
        profile = user.get("profile")
        email = profile.get("email", "") if isinstance(profile, dict) else ""
        if not isinstance(email, str) or user.get("is_email_confirmed") is not True:
            return ""
        name, at, domain = email.lower().rpartition("@")
        known = {one.lower() for one in self._app.email_domains}
        return email.lower() if name and at and domain in known else ""
