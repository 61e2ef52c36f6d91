"""The report on observed calls: what a guard would have asked, refused and cancelled."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator import Money
from orchestrator.cli.options import read_since
from orchestrator.client.observe_report import ObservedCalls, ObserveReport, report_of
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.observed import ObservedCall, ObservedRun, ObserveInput
from orchestrator.saga.cancel_arguments import draft_obligation
from orchestrator.saga.outcome import ToolOutcome
from tests.shipped import shipped_catalog

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
CATALOG = shipped_catalog()
EVENT: JsonObject = {"title": "Dinner", "start_date": "2030-12-03"}
RUNNING, FAILED = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.FAILED


class Watched:
    """The observed calls of one saga."""

    def __init__(
        self, name: str = "trip", *, status: WorkflowExecutionStatus = RUNNING, **terms: Any
    ) -> None:
        workflow = SimpleNamespace(id=f"w/{name}", run_id="r", start_time=BEGAN, status=status)
        self.name = name
        self.run = ObservedCalls(cast(WorkflowExecution, workflow), name, ObservedRun(**terms))

    def call(
        self, tool: str, arguments: JsonObject, outcome: ToolOutcome | None = None
    ) -> ObservedCall:
        """Add a call; by default its provider says that it was done."""
        number = len(self.run.calls) + 1
        wanted = ObserveInput(
            call_id=names.call_id(self.name, f"call-{number}", 1),
            mission_id=self.name,
            leg_id=f"call-{number}",
            tool=tool,
            catalog_digest=CATALOG.digest,
            origin="r",
            arguments=arguments,
        )
        at = BEGAN + timedelta(seconds=number)
        made = CATALOG.tool(tool)
        effect = draft_obligation(wanted, made, arguments, now=at) if made.is_side_effect else None
        outcome = outcome or ToolOutcome(kind="succeeded", status=201, answered_at=at, body={})
        call = ObservedCall(outcome=outcome, obligation=effect)
        self.run.calls[number] = (wanted, at, call)
        return call


def reported(*watched: Watched, policy: MissionPolicy | None = None) -> ObserveReport:
    runs = [one.run for one in watched]
    policy = policy or MissionPolicy()
    return report_of(runs, {CATALOG.digest: CATALOG}, since=BEGAN, policy=policy)


def kinds(*watched: Watched) -> Counter[str]:
    return Counter(one.kind for one in reported(*watched).caught)


def test_a_failure_names_what_a_rollback_would_have_cancelled() -> None:
    """With the tool of each cancel; a saga that ended well names nothing.

    After a termination the sweep would have rolled back, unless the saga had ended.
    """
    stopped = WorkflowExecutionStatus.TERMINATED
    lost, well = Watched("lost", failed="no room"), Watched("well", ended=True)
    ended, cut = Watched("done", status=stopped, ended=True), Watched("cut", status=stopped)
    for title, one in enumerate((lost, well, ended, cut)):
        one.call("calendar_create_event", {**EVENT, "title": f"Dinner {title}"})

    failed, terminated = [one for one in reported(lost, well, ended, cut).caught]
    assert (failed.kind, terminated.kind) == ("failed", "failed")
    assert (failed.mission_id, terminated.mission_id) == ("lost", "cut")
    assert "no room" in failed.text
    assert "calendar_cancel_event" in failed.text


def test_the_same_effect_twice_is_found_across_workflows() -> None:
    """Once for each effect after the first; a read may be made as often as one likes."""
    one, other = Watched("one"), Watched("other")
    for watched in (one, one, other):
        watched.call("calendar_create_event", EVENT)
        watched.call("calendar_list_events", {"start_date": "2030-12-01", "end_date": "2030-12-09"})

    assert kinds(one, other)["twice"] == 2


def test_a_call_that_a_reset_copied_counts_once() -> None:
    """The same call, answered at the same time, in two runs of a workflow."""
    one, copy = Watched("trip"), Watched("trip")
    for watched in (one, copy):
        watched.call("calendar_create_event", EVENT)

    report = reported(one, copy)

    assert (report.calls, report.consequences, len(report.asks)) == (1, 1, 1)
    assert not report.caught


def test_arguments_that_break_the_contract_would_have_been_refused() -> None:
    """No card would have been shown."""
    watched = Watched()
    watched.call("calendar_create_event", {"title": "Dinner"})
    report = reported(watched)

    assert [one.kind for one in report.caught] == ["refused"]
    assert not report.asks


def test_a_card_tells_of_a_standing_approval() -> None:
    """By the policy of the saga and that of the operator."""
    rule = StandingApproval(name="calendar", tools=("calendar_*",))
    policy = MissionPolicy(confirmation=ConfirmationPolicy(standing=(rule,)))
    asked, covered = Watched("asked"), Watched("covered", policy=policy)
    for watched in (asked, covered):
        watched.call("calendar_create_event", {**EVENT, "title": watched.name})

    report = reported(asked, covered, policy=policy)

    assert [ask.standing for ask in report.asks] == [False, True]
    assert report.standing == 1


def test_what_is_unknown_is_listed() -> None:
    """A read that failed is nobody's concern."""
    watched = Watched()
    unknown = ToolOutcome(kind="unknown", reason="no answer in time")
    watched.call("calendar_create_event", EVENT, unknown)
    watched.call(
        "calendar_list_events", {"start_date": "2030-12-01", "end_date": "2030-12-09"}, unknown
    )

    assert kinds(watched) == {"unknown": 1}


def test_charges_are_compared_with_price_and_budget() -> None:
    """The price is that of the offer that was read before."""
    watched = Watched(budget=Money(amount=Decimal(100), currency="EUR"))
    price: JsonObject = {"amount": "90.00", "currency": "EUR"}
    answer: JsonObject = {"offers": [{"offer_id": "off_1", "price": price}]}
    trip: JsonObject = {"origin": "Berlin", "destination": "Lisbon"}
    search: JsonObject = {**trip, "departure_date": "2030-12-03"}
    watched.call("flight_search_offers", search, ToolOutcome(kind="succeeded", body=answer))
    charged = Money(amount=Decimal(120), currency="EUR")
    booking: JsonObject = {"offer_id": "off_1", "traveler_id": "pii:traveler_id"}
    booked = ToolOutcome(kind="succeeded", status=201, price=charged, answered_at=BEGAN, body={})
    watched.call("flight_book_offer", booking, booked)
    found = kinds(watched)

    assert found["overcharged"] == 1
    assert found["over_budget"] == 1


def test_a_tool_without_document_is_not_passed_over_silently() -> None:
    """The report says what it did not examine."""
    watched = Watched()
    watched.call("calendar_create_event", EVENT)
    for known, said in (({}, "is in no document here"), ({"": CATALOG}, "by other documents")):
        report = report_of([watched.run], known, since=BEGAN, policy=MissionPolicy())
        assert [one for one in report.unread if "calendar_create_event" in one and said in one]


@pytest.mark.parametrize(
    ("since", "hours"), [("36h", 36), ("7d", 168), ("2w", 336), ("2026-11-30T00:00:00+00:00", 12)]
)
def test_a_time_is_read(since: str, hours: int) -> None:
    """As a distance, or as ISO 8601 has it."""
    assert read_since(since, now=BEGAN) == BEGAN - timedelta(hours=hours)


@pytest.mark.parametrize("since", ["", "yesterday", "-3d", "7", "9" * 30 + "d"])
def test_another_time_is_wrong_usage(since: str) -> None:
    """In one sentence."""
    with pytest.raises(UsageError):
        read_since(since, now=BEGAN)
