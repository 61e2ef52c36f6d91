"""Follow-up actions on the command line: what a result lists, and the mission that one begins."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.budget import Money
from orchestrator.core.errors import MissionNotFound
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import FollowUp
from tests.commands import Ran
from tests.fakes import fake_obligation

Run = Callable[..., Ran]
AT = datetime(2026, 11, 30, 8, tzinfo=UTC)
CANCEL = FollowUp(
    id="trip.1-book.2:1",
    kind="cancel",
    tool="flight_cancel_booking",
    title="Cancel a booking",
    inputs={"booking_id": "B1"},
    until=AT,
    fee=Money(amount=Decimal(20), currency="EUR"),
)
STATUS = FollowUp(
    id="trip.2-look.1:1",
    kind="read",
    tool="flight_get_booking",
    title="Show a booking",
    inputs={"booking_id": "B1"},
)
BOOKED = fake_obligation(
    "trip.1-book.2", state=ObligationState.COMMITTED, written_at=AT, follow_ups=(CANCEL,)
)
LOOKED = LegResult(
    leg_id="2-look", agent="any", goal="look", status=LegStatus.SUCCEEDED, follow_ups=(STATUS,)
)
RESULT = MissionResult(
    mission_id="trip",
    goal="Book a flight",
    status=MissionStatus.SUCCEEDED,
    ledger=Ledger(obligations=(BOOKED,)),
    legs=(LOOKED,),
    finished_at=AT,
)


class Client(MissionClient):
    """Knows one mission, and keeps the requests that are to begin others."""

    def __init__(self) -> None:
        self.started: list[MissionRequest] = []

    def get(self, mission_id: str) -> Any:
        class Handle:
            async def snapshot(self) -> MissionResult:
                if mission_id != "trip":
                    raise MissionNotFound(mission_id)
                return RESULT

        return Handle()

    async def start(self, request: MissionRequest) -> MissionHandle:
        self.started.append(request)
        return MissionHandle(None, request.mission_id or "")  # type: ignore[arg-type]


@pytest.fixture
def client(connect_to: Callable[[Any], Any]) -> Any:
    return connect_to(Client())


@pytest.mark.parametrize(
    ("named", "wanted"), [("trip:1", CANCEL), ("trip.1-book.2:1", CANCEL), ("trip:2", STATUS)]
)
def test_a_follow_up_begins_a_mission_of_exactly_that_call(
    client: Client, run: Run, named: str, wanted: FollowUp
) -> None:
    """With those inputs; one that only reads may change nothing."""
    ran = run("mission", "start", "--follow-up", named, "--budget", "50", "EUR")

    assert ran.exit_code == 0
    (request,) = client.started
    assert request.call is not None
    assert (request.call.tool, request.call.arguments) == (wanted.tool, wanted.inputs)
    assert request.read_only is (wanted.kind == "read")
    assert request.budget is not None


@pytest.mark.parametrize("named", ["trip:3", "trip:0", "trip.1-book.2:9", "other:1", "trip", ""])
def test_one_that_is_not_listed_begins_nothing(client: Client, run: Run, named: str) -> None:
    assert run("mission", "start", "--follow-up", named).exit_code != 0
    assert run("mission", "start", "Book it", "--follow-up", "trip:1").exit_code == 2
    assert client.started == []
