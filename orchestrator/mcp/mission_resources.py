"""Missions as resources: the page as Markdown, and the audit record as JSON."""

import json
import re
from typing import Final

from mcp import types
from mcp.shared.exceptions import MCPError

from orchestrator.client.mission_pages import MissionFilter
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.shown_text import visible, visible_json
from orchestrator.mcp.exchange import Exchange
from orchestrator.web import sight
from orchestrator.web.problem_details import ProblemError, problem_of

_URI: Final = re.compile(r"mission://([A-Za-z0-9_-]{1,80})(/record)?")
_NEWEST: Final = 20
_MARKDOWN: Final = "text/markdown"
_JSON: Final = "application/json"
TEMPLATES: Final = [
    types.ResourceTemplate(
        name="mission",
        title="A mission's page",
        uri_template="mission://{mission_id}",
        description="Status, effects and waits, as Markdown",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        name="mission-record",
        title="A mission's audit record",
        uri_template="mission://{mission_id}/record",
        description="Decisions, grants, calls and cancels of a mission that is over",
        mime_type=_JSON,
    ),
]


async def listed(exchange: Exchange) -> types.ListResourcesResult:
    """Return the pages of the newest missions that the person sees."""
    page = await sight.seen_missions(
        exchange.service, exchange.person, MissionFilter(), limit=_NEWEST, cursor=None
    )
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=f"mission://{one.mission_id}",
                name=one.mission_id,
                title=visible((one.goal or one.mission_id)[:200]),
                description=one.status,
                mime_type=_MARKDOWN,
            )
            for one in page.missions
        ]
    )


async def read(exchange: Exchange, uri: str) -> types.ReadResourceResult:
    """Return a resource.

    Raises:
        MCPError: there is none of that URI, or the person does not see it.
    """
    found = _URI.fullmatch(uri)
    if found is None:
        raise MCPError(types.INVALID_PARAMS, "no such resource; read mission://ID")
    try:
        if found[2]:
            record = await sight.seen_record(exchange.service, exchange.person, found[1])
            text = visible_json(json.dumps(record, ensure_ascii=False))
        else:
            text = (await exchange.answer(found[1])).markdown()
    except (ProblemError, OrchestratorError) as error:
        raise MCPError(types.INVALID_PARAMS, problem_of(error).problem.detail) from None
    kind = _JSON if found[2] else _MARKDOWN
    contents = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    return types.ReadResourceResult(contents=[contents])
