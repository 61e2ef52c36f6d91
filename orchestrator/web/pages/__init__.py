"""The inbox: pages rendered on the server, live by server-sent events."""

from starlette.routing import BaseRoute

from orchestrator.web.pages import (
    assets,
    card,
    inbox,
    live,
    missions_pages,
    question_page,
    rollback_pages,
    start_page,
)
from orchestrator.web.web_service import Service


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of all pages, for the application."""
    return [
        *inbox.routes(service),
        *card.routes(service),
        *question_page.routes(service),
        *missions_pages.routes(service),
        *rollback_pages.routes(service),
        *start_page.routes(service),
        *live.routes(service),
        *assets.routes(),
    ]
