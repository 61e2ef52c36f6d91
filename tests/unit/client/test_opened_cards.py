"""What of a history may have opened a card, and how often it is read."""

from typing import Any, cast

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.client.connection import Connection
from orchestrator.client.opened_cards import _Followed, rest_after
from orchestrator.messages import names


class Temporal:
    """A client of a server that is not asked for anything."""

    data_converter = mission_converter()


class Following(_Followed):
    """Follows nothing: it is told what was recorded."""

    async def _follow(self, workflow_id: str) -> None:
        """Nothing is read."""


def upserted(status: str) -> HistoryEvent:
    event = HistoryEvent()
    fields = event.upsert_workflow_search_attributes_event_attributes.search_attributes
    fields.indexed_fields[names.STATUS_ATTRIBUTE].data = f'"{status}"'.encode()
    return event


def answered(data: bytes) -> HistoryEvent:
    """An update was answered so."""
    event = HistoryEvent()
    answer = event.workflow_execution_update_completed_event_attributes.outcome.success
    answer.payloads.append(Payload(metadata={"encoding": b"json/plain"}, data=data))
    return event


@pytest.mark.parametrize(
    ("event", "may_open"),
    [
        (upserted("awaiting_confirmation"), True),
        (upserted("running"), False),
        (answered(b'{"accepted":"amended","card":{"title":"t"}}'), True),
        (answered(b'{"accepted":"approved","card":null}'), False),
        (answered(b'{"accepted":"approved"}'), False),
        (answered(b'"q1"'), False),
        (HistoryEvent(), False),
    ],
)
async def test_a_leg_is_asked_only_where_a_card_may_have_opened(
    event: HistoryEvent, may_open: bool
) -> None:
    """A wait for a decision begins, or an amendment leads to another card."""
    connection = Connection(cast(Any, Temporal()), "missions")
    followed = Following(connection, "m")

    await followed._take("m.1-a", event)

    assert followed.news() == (["m.1-a"] if may_open else [])


@pytest.mark.parametrize(("waited_s", "rest_s"), [(0, 0.05), (0.4, 0.05), (3, 0.3), (90_000, 1)])
def test_who_has_waited_for_long_polls_less_often(waited_s: float, rest_s: float) -> None:
    """A tenth of the wait, within limits."""
    assert rest_after(waited_s) == pytest.approx(rest_s)
