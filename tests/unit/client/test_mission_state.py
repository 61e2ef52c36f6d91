"""How missions stand, by their memos and histories alone, and the cards of one as they open."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHistoryEventFilterType
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.mission_history import LedgerRead
from orchestrator.client import mission_state
from orchestrator.client.connection import Connection
from orchestrator.client.history_replay import Replays
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.mission_state import read_accepted, read_mission, read_report
from orchestrator.client.waits import all_waiting, open_card, opened_cards, rest_after
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import CardUnknown, EventsUnreadable, UsageError
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, LegWaiting
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.open_waits import Waiting
from orchestrator.saga.ledger import Ledger
from tests.fakes import fake_obligation
from tests.unit.cards import open_card as card_of
from tests.unit.client.stand_ins import CALL, STAND_INS, history

Is = WorkflowExecutionStatus
NOON = datetime(2026, 12, 3, 12, tzinfo=UTC)
CARD = card_of(CALL, "hotel_book_room", "structured-reservation", title="a room")


class Pages:
    """Pages of a history, as long polls give them."""

    def __init__(self, events: Sequence[HistoryEvent], size: int) -> None:
        self._left = [list(events[at : at + size]) for at in range(0, len(events), size)]
        self.current_page: list[HistoryEvent] | None = None
        self.next_page_token: bytes | None = b"first"

    async def fetch_next_page(self) -> None:
        """The next one; none follows the last."""
        self.current_page = self._left.pop(0)
        self.next_page_token = b"next" if self._left else None

    async def __aiter__(self) -> AsyncIterator[HistoryEvent]:
        while self._left:
            for event in self._left.pop(0):
                yield event


class Run:
    """One workflow on the server, and a handle of it."""

    def __init__(self, workflow_id: str, kind: str, events: Sequence[HistoryEvent]) -> None:
        self.id, self.run_id, self.workflow_type = workflow_id, "run", kind
        self.events, self.status = list(events), Is.RUNNING
        self.close_time = None
        self.known, self.memo, self.task_queue = len(self.events), dict[str, Any](), "q"
        self.start_time = self.events[0].event_time.ToDatetime() if events else None
        self.typed_search_attributes: dict[object, str] = {}
        self.raw_info = SimpleNamespace(memo=SimpleNamespace(fields=self.memo))

    @property
    def history_length(self) -> int:
        """As it was when it was looked at."""
        return self.known

    async def describe(self) -> "Run":
        """Itself."""
        return self

    async def memo_value(self, key: str, default: object, **_: object) -> Any:
        """What its memo has."""
        return self.memo.get(key, default)

    def fetch_history_events(
        self, *, event_filter_type: object = None, wait_new_event: bool = False, **_: object
    ) -> Pages:
        """All of it, or its end."""
        is_close = event_filter_type == WorkflowHistoryEventFilterType.CLOSE_EVENT
        return Pages(self.events[-1:] if is_close else self.events, 3 if wait_new_event else 1000)


class Missing:
    """A handle of nothing."""

    async def describe(self) -> None:
        raise RPCError("not found", RPCStatusCode.NOT_FOUND, b"")


class Server:
    """A client of a server with these workflows, which no query reaches."""

    data_converter = pydantic_data_converter

    def __init__(self, *runs: Run) -> None:
        self.runs = {one.id: one for one in runs}
        self.searches: list[str] = []

    def get_workflow_handle(self, workflow_id: str, **_: object) -> Any:
        """One of them."""
        return self.runs.get(workflow_id, Missing())

    async def list_workflows(self, query: str, **_: object) -> AsyncIterator[Run]:
        """All of them."""
        self.searches.append(query)
        for one in self.runs.values():
            yield one


def mission(name: str, status: WorkflowExecutionStatus = Is.RUNNING) -> Run:
    one = Run("trip", names.MISSION_WORKFLOW, history(name).events)
    one.status = status
    return one


def to(*runs: Run, workflows: Sequence[type] = STAND_INS) -> Connection:
    client = cast(Client, Server(*runs))
    connection = Connection(client, "q")
    connection.replays = Replays(client, lambda: workflows)
    return connection


async def test_a_mission_that_runs_is_replayed() -> None:
    """Its legs as they stand, without a worker; with no completed task it is being planned."""
    begun = mission("mission-waiting")
    begun.events = begun.events[:2]
    result = await read_mission(to(mission("mission-waiting")), "trip")
    planning = await read_mission(to(begun), "trip")

    assert result.status is MissionStatus.RUNNING
    assert [leg.status for leg in result.legs] == [LegStatus.AWAITING_CONFIRMATION]
    assert (planning.status, planning.goal) == (MissionStatus.PLANNING, "go")


async def test_the_end_of_a_mission_carries_its_result() -> None:
    """Nothing is replayed: also the code of another release can have made it."""
    for name, status, shown in (
        ("mission-succeeded", Is.COMPLETED, MissionStatus.SUCCEEDED),
        ("mission-failed", Is.FAILED, MissionStatus.FAILED),
    ):
        connection = to(mission(name, status))
        accepted = await read_accepted(connection, "trip")
        connection.replays = cast(Replays, None)

        assert (await read_mission(connection, "trip")).status is shown
        assert accepted.request_digest in ("go", "fail")


async def test_a_mission_that_was_stopped_from_outside_is_terminated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With what it had come to. One of other code shows its ledger, and can be rolled back.

    One of other code that goes on is for those who run that.
    """
    left = fake_obligation(CALL, written_at=NOON, deadline=NOON)

    async def read(*_: object) -> LedgerRead:
        return LedgerRead(Ledger(obligations=(left,)))

    monkeypatch.setattr(mission_state, "read_ledger", read)
    stopped, running = mission("mission-terminated", Is.TERMINATED), mission("mission-waiting")
    result = await read_mission(to(stopped), "trip")
    of_other_code = await read_mission(to(stopped, workflows=STAND_INS[1:]), "trip")
    with pytest.raises(EventsUnreadable):
        await read_mission(to(running, workflows=STAND_INS[1:]), "trip")

    assert result.status is of_other_code.status is MissionStatus.TERMINATED
    assert result.error == "it was stopped from outside"
    assert result.legs
    assert of_other_code.ledger.live()


async def test_what_a_rollback_did_shows_in_its_mission() -> None:
    """Read from its close event."""
    rollback = Run("trip.rollback", names.ROLLBACK_WORKFLOW, history("rollback").events)
    rollback.status = Is.COMPLETED
    connection = to(mission("mission-failed", Is.FAILED), rollback)

    assert (await read_report(connection, "trip")).settled
    assert [o.state for o in (await read_mission(connection, "trip")).ledger.obligations]
    with pytest.raises(UsageError):
        await read_report(to(mission("mission-failed", Is.FAILED)), "trip")


async def test_all_that_waits_is_one_search() -> None:
    """The memos of the missions have it: none is looked up by itself."""
    one, two = mission("mission-waiting"), Run("m", names.MISSION_WORKFLOW, [])
    one.memo |= {f"{names.WAITS_MEMO}1": LegWaiting(card=CARD), "goal": "go"}
    one.memo[names.WAITS_MEMO] = LegWaiting(stalled="a catalog")
    server = Server(one, two)
    waiting = await all_waiting(Connection(cast(Client, server), "q"))

    assert (waiting.cards, waiting.stalled) == ((CARD,), ("a catalog",))
    assert len(server.searches) == 1


async def test_a_card_is_looked_up_in_the_memo_of_its_mission() -> None:
    """What is not open says which is; what is over asks for nothing."""
    one = mission("mission-waiting")
    one.memo[f"{names.WAITS_MEMO}1-room"] = LegWaiting(card=CARD)
    connection = to(one)

    assert await open_card(connection, CALL) == CARD
    with pytest.raises(CardUnknown, match=f"now asks {CALL}"):
        await open_card(connection, "trip.1-room.1")
    for unknown in ("trip", "other.1-room.1"):
        with pytest.raises(CardUnknown):
            await open_card(connection, unknown)
    one.status = Is.COMPLETED
    assert await MissionHandle(connection, "trip").waiting() == Waiting()


class Opening(Run):
    """A mission that notes its open card in its memo every three events, and then ends."""

    def __init__(self, *cards: ConfirmationCard | None) -> None:
        self._cards, self.looks = cards, 0
        super().__init__("trip", names.MISSION_WORKFLOW, [*map(self._event, range(3 * len(cards)))])
        self.known = 3

    def _event(self, n: int) -> HistoryEvent:
        event = HistoryEvent(event_id=n + 1)
        if n % 3 == 2:
            changed = event.workflow_properties_modified_event_attributes.upserted_memo.fields
            card = self._cards[n // 3]
            waiting = None if card is None else LegWaiting(card=card)
            payloads = pydantic_data_converter.payload_converter.to_payloads([waiting])
            changed[f"{names.WAITS_MEMO}1-room"].CopyFrom(payloads[0])
        return event

    async def describe(self) -> "Opening":
        """It is at its beginning, or over."""
        self.looks += 1
        if self.looks == 1:
            self.memo[f"{names.WAITS_MEMO}1-room"] = LegWaiting(card=self._cards[0])
        else:
            self.status = Is.COMPLETED
        return self


async def test_cards_come_as_their_mission_writes_them_into_its_memo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each once, and again after it was closed only if it is another; from its events alone."""
    monkeypatch.setattr("orchestrator.client.waits._RESTS_S", (0, 0))
    amended, second = (CARD.model_copy(update={"digest": one * 64}) for one in "fe")
    opening = Opening(CARD, CARD, None, CARD, amended, None, second, None)

    cards = opened_cards(to(opening), "trip")

    digests = [card.digest async for card in cards]
    assert digests == [CARD.digest, amended.digest, second.digest]
    assert opening.looks == 2


@pytest.mark.parametrize(("waited_s", "rest_s"), [(0, 0.05), (0.4, 0.05), (3, 0.3), (90_000, 1)])
def test_who_has_waited_for_long_polls_less_often(waited_s: float, rest_s: float) -> None:
    """A tenth of the wait, within limits."""
    assert rest_after(waited_s) == pytest.approx(rest_s)
