"""Publish workflows to lists and the Temporal UI: search attributes, memos and pages.

Current details are read by query, so no history grows by them. mission_page.py and rollback_page.py
hold the content of the pages. If a client starts a mission or a rollback outside of a workflow, its
summary comes with the start request.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal import search_attributes as sa
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegWaiting
    from orchestrator.messages.observed import SEARCHED_AS, ObservedRun
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows.mission_page import MissionPage
    from orchestrator.workflows.rollback_page import RollbackPage


Searched = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The search attributes of a mission that change: its status, waits, tools and agents."""
UNKNOWN: Final[Searched] = ("", ("",), ("",), ("",))
"""A value that differs from the attributes of every mission."""


def note_mission(page: MissionPage, *, before: Searched) -> Searched:
    """Update a mission's search attributes where they have changed."""
    waits, tools, agents = tuple(page.waits_for), tuple(page.tools), tuple(page.agents)
    now: Searched = (page.searched_as, waits, tools, agents)
    changes: list[SearchAttributeUpdate[Any]] = []
    if now[0] != before[0]:
        changes.append(sa.STATUS.value_set(now[0]))
    keys = (sa.WAITING_FOR, sa.TOOL, sa.AGENT)
    for key, values, old in zip(keys, now[1:], before[1:], strict=True):
        if values != old:
            changes.append(_several(key, values))
    if changes:
        workflow.upsert_search_attributes(changes)
    return now


def note_saga(
    mission_ids: Sequence[str], waits_for: Sequence[str], *, before: tuple[str, ...]
) -> tuple[str, ...]:
    """Update the search attributes of a workflow with sagas where they have changed."""
    now = (*map(names.saga_attribute, mission_ids), *waits_for)
    if now != before:
        sagas = [names.saga_attribute(one) for one in mission_ids]
        workflow.upsert_search_attributes(
            [_several(sa.AGENT, sagas), _several(sa.WAITING_FOR, waits_for)]
        )
    return now


def note_observed(mission_id: str, noted: ObservedRun, *, before: ObservedRun | None) -> None:
    """Note in the memo, and for searches, that a mission or a saga is not guarded."""
    if noted != before:
        workflow.upsert_search_attributes([sa.MODE.value_set(SEARCHED_AS)])
        workflow.upsert_memo({f"{names.OBSERVED_MEMO}{mission_id}": noted})


def note_waits(
    waits: Mapping[str, LegWaiting], *, before: Mapping[str, LegWaiting]
) -> dict[str, LegWaiting]:
    """Update the waits of each leg in the mission's memo, from which lists are made."""
    changes = {
        f"{names.WAITS_MEMO}{leg_id}": waits.get(leg_id)
        for leg_id in dict.fromkeys([*before, *waits])
        if waits.get(leg_id) != before.get(leg_id)
    }
    if changes:
        workflow.upsert_memo(changes)
    return dict(waits)


def show_rollback(page: RollbackPage) -> None:
    """Update a rollback's search attributes, memo and page."""
    report = page.report
    workflow.upsert_search_attributes(
        [
            sa.STATUS.value_set(str(page.status)),
            _several(sa.WAITING_FOR, page.waits_for),
            _several(sa.TOOL, page.tools),
            sa.PARKED.value_set(len(report.parked)),
        ]
    )
    parked = report.model_copy(update={"ledger": Ledger(obligations=tuple(report.parked))})
    workflow.upsert_memo({names.PARKED_MEMO: parked if report.parked or report.blocked else None})
    workflow.set_current_details(page.markdown())


def _several(
    key: SearchAttributeKey[Sequence[str]], values: Sequence[str]
) -> SearchAttributeUpdate[Any]:
    return key.value_set([str(value) for value in values]) if values else key.value_unset()


UNTIL_TAKEN = "until its provider takes calls again"
HOLD_EXPIRES = "all is rolled back unless somebody decides"
UNTIL_ROLLBACK = "until the rollback is started again"
