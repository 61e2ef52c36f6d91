"""Durable multi-agent missions over OpenAPI tools, with confirmation and automatic rollback."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.client.mission_client import MissionClient, MissionHandle
    from orchestrator.core.budget import Money
    from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
    from orchestrator.routing.router import Router

_HOMES = {
    "Catalog": "orchestrator.catalog.catalog",
    "MissionClient": "orchestrator.client.mission_client",
    "MissionHandle": "orchestrator.client.mission_client",
    "MissionRequest": "orchestrator.messages.mission",
    "MissionResult": "orchestrator.messages.mission",
    "MissionStatus": "orchestrator.messages.mission",
    "Money": "orchestrator.core.budget",
    "Router": "orchestrator.routing.router",
}

__all__ = [
    "Catalog",
    "MissionClient",
    "MissionHandle",
    "MissionRequest",
    "MissionResult",
    "MissionStatus",
    "Money",
    "Router",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    Workflow code imports this package too; it must not draw in HTTP clients and indexes with it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
