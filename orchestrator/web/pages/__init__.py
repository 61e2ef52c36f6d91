"""The inbox: pages rendered on the server, live by server-sent events."""

from pathlib import Path

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from orchestrator.web.pages.card import CardPage
from orchestrator.web.pages.inbox import approve_reviewed, resume, review, show_inbox
from orchestrator.web.pages.live import Watch, mission_changes
from orchestrator.web.pages.missions_pages import change_mission, list_missions, show_mission
from orchestrator.web.pages.page import page_route
from orchestrator.web.pages.question_page import QuestionPage
from orchestrator.web.pages.rollback_pages import (
    RollbackOrders,
    list_parked,
    resolve,
    show_rollback,
)
from orchestrator.web.pages.start_page import plan_or_start, show_start
from orchestrator.web.pages.tool_schemas import ToolSchemas
from orchestrator.web.web_service import Service


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of all pages, for the application."""
    schemas = ToolSchemas(service.settings)
    card, question = CardPage(schemas), QuestionPage(schemas)
    watch, orders = Watch(service), RollbackOrders()
    mission = "/missions/{mission_id}"
    return [
        page_route(service, "/", get=show_inbox),
        page_route(service, "/review", get=review, post=approve_reviewed),
        page_route(service, "/pauses/{pause_id}", post=resume),
        page_route(service, "/cards/{confirmation_id}", get=card.show, post=card.decide),
        page_route(service, "/questions/{question_id}", get=question.show, post=question.answer),
        page_route(service, "/missions", get=list_missions),
        page_route(service, mission, get=show_mission, post=change_mission),
        page_route(service, f"{mission}/rollback", get=show_rollback, post=orders.begin),
        page_route(service, "/parked", get=list_parked, post=resolve),
        page_route(service, "/start", get=show_start, post=plan_or_start),
        page_route(service, "/events", get=watch.stream),
        page_route(service, f"{mission}/events", get=mission_changes),
        Mount("/static", _Assets(directory=Path(__file__).parent / "static"), name="static"),
    ]


class _Assets(StaticFiles):
    """Stylesheet and scripts, which browsers keep for a while and then compare by ETag."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=300, must-revalidate"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
