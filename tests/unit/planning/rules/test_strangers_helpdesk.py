"""The helpdesk of docs/quickstart.md under the overlay proposed for it: goals of its users."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog, load_documents
from orchestrator.catalog.suggest.proposal import overlay_text
from orchestrator.catalog.suggest.suggest import suggest
from orchestrator.routing.router import Router

HELPDESK = Path(__file__).parents[4] / "docs/examples/helpdesk.yaml"


@pytest.fixture(scope="module")
def helpdesk(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    overlay = tmp_path_factory.mktemp("overlay") / "helpdesk-tools.yaml"
    document = load_documents(HELPDESK)["helpdesk"]
    overlay.write_text(overlay_text(suggest("helpdesk", document, file="helpdesk.yaml")))
    return Catalog.from_documents(load_documents(HELPDESK, overlays=[overlay]))


@pytest.mark.parametrize(
    "goal",
    [
        "Open a ticket for customer cus_7f31 with the subject 'Invoice 2041 is wrong'",
        "I want to open a ticket for cus_7f31 with the subject 'Invoice 2041 is wrong'",
        "Please raise a ticket for customer cus_7f31, subject 'Invoice 2041 is wrong'",
        "Create a ticket about 'Invoice 2041 is wrong' for cus_7f31",
    ],
)
async def test_a_ticket_is_made_of_what_the_goal_says(
    new_mission: Callable[..., Any], helpdesk: Catalog, goal: str
) -> None:
    """To open one that is not there is to make it, and no search; nothing is deleted by its id."""
    run = await new_mission(helpdesk, Router(helpdesk)).run(goal)

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert not run.plan.doubts
    assert call.tool == "createTicket"
    assert call.arguments == {"customer_id": "cus_7f31", "subject": "Invoice 2041 is wrong"}


@pytest.mark.parametrize(
    "goal", ["List tickets", "Show me the tickets", "Show open tickets", "Open ticket tic_20931"]
)
async def test_a_listing_is_found_though_it_is_a_probe_too(
    new_mission: Callable[..., Any], helpdesk: Catalog, goal: str
) -> None:
    """It can be asked for without the reference by which the rollback asks."""
    run = await new_mission(helpdesk, Router(helpdesk)).run(goal)

    assert [call.tool for call in run.calls(run.plan.legs[0].leg_id)] == ["listTickets"]
