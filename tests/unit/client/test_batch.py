"""Lists of missions: their ids, how many run at a time, and what is refused before any begins."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orchestrator.client import batch as batch_module
from orchestrator.client.batch import NOT_STARTED, Batch, BatchEntry, BatchFaulty
from orchestrator.client.personal_data import BroughtInputs
from orchestrator.client.start import Started
from orchestrator.core.errors import MissionIdTaken, ServerUnreachable, UsageError
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus


class FakeStarter:
    """Starts missions that end once they are let, and counts how many ran at once."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running = 0
        self.most = 0
        self.taken: set[str] = set()
        self.away = 0

    async def completed(self, request: MissionRequest, *, pins: bool = True) -> Any:
        if "refused" in request.goal:
            raise UsageError("goal: it says nothing")
        values = {"traveler_name": "x"} if "traveler_name" in request.inputs else {}
        return request, BroughtInputs(request.inputs, values, ())

    async def start(self, request: MissionRequest) -> Started:
        mission_id = request.mission_id or ""
        if self.away:
            self.away -= 1
            raise ServerUnreachable("localhost")
        if mission_id in self.taken:
            raise MissionIdTaken(mission_id)
        self.started.append(mission_id)
        return Started(mission_id)


class FakeHandle:
    """A mission that takes a few turns of the loop."""

    def __init__(self, starter: FakeStarter, mission_id: str, *, queued: str = "") -> None:
        self.starter, self.mission_id, self.queued = starter, mission_id, queued

    async def result(self) -> MissionResult:
        self.starter.running += 1
        self.starter.most = max(self.starter.most, self.starter.running)
        for _ in range(5):
            await asyncio.sleep(0)
        self.starter.running -= 1
        return MissionResult(mission_id=self.mission_id, goal="go", status=MissionStatus.SUCCEEDED)


@pytest.fixture
def starter(monkeypatch: pytest.MonkeyPatch) -> FakeStarter:
    starter = FakeStarter()
    monkeypatch.setattr(
        batch_module, "MissionHandle", lambda _, mission_id, **more: FakeHandle(starter, mission_id)
    )
    return starter


def batch(starter: Any, *, hides_goals: bool = False) -> Batch:
    return Batch(None, starter, hides_goals=hides_goals)  # type: ignore[arg-type]


def entries(*goals: str, **inputs: str) -> list[BatchEntry]:
    return [
        BatchEntry(place=f"line {n}", request=MissionRequest(goal=goal, inputs=dict(inputs)))
        for n, goal in enumerate(goals, start=1)
    ]


def silent(*_: object) -> None:
    """Told of progress."""


async def test_no_more_run_than_may(starter: FakeStarter) -> None:
    """And all of them run, in their order."""
    ends = await batch(starter).run("b", entries(*"abcdefg"), at_once=3, notify=silent)

    assert starter.most == 3
    assert [end.mission_id for end in ends] == starter.started
    assert len(ends) == 7
    assert all(end.succeeded for end in ends)


async def test_a_request_keeps_its_id_wherever_it_stands(starter: FakeStarter) -> None:
    """A line that is put in before it, or taken out, starts nothing twice."""
    before = await batch(starter).named("b", entries("a", "b", "a"))
    after = await batch(starter).named("b", entries("new", "b", "a", "a"))
    ids = [entry.request.mission_id for entry in before]

    assert len(set(ids)) == 3
    assert set(ids) < {entry.request.mission_id for entry in after}
    other = await batch(starter).named("c", entries("a"))
    assert other[0].request.mission_id not in ids


@pytest.mark.parametrize(
    ("given", "hides", "wrong"),
    [
        (entries("fine", "refused", "fine"), False, "line 2: goal"),
        (entries("go", traveler_name="x"), False, "line 1: give it an id"),
        (entries("go"), True, "line 1: give it an id"),
    ],
)
async def test_nothing_is_started_before_all_can_be(
    starter: FakeStarter, given: list[BatchEntry], hides: bool, wrong: str
) -> None:
    """The line is named. No id is made of what is personal or encrypted: ids are not."""
    with pytest.raises(BatchFaulty, match=wrong):
        await batch(starter, hides_goals=hides).run("b", given, at_once=2, notify=silent)

    assert starter.started == []


async def test_an_id_is_given_once(starter: FakeStarter) -> None:
    """Two requests with one id would be one mission, or a refusal half-way."""
    twice = [
        BatchEntry(place=f"line {n}", request=MissionRequest(goal=goal, mission_id="same"))
        for n, goal in enumerate("ab", start=1)
    ]
    with pytest.raises(BatchFaulty, match="line 2: its id same is that of line 1"):
        await batch(starter).run("b", twice, at_once=2, notify=silent)


async def test_what_cannot_be_started_holds_up_no_other(starter: FakeStarter) -> None:
    """An id that another request has is told; a server that is away is waited for."""
    named = await batch(starter).named("b", entries("a", "b"))
    starter.taken.add(named[0].request.mission_id or "")
    starter.away = 1
    first, second = await batch(starter).run("b", entries("a", "b"), at_once=1, notify=silent)

    assert (first.status, second.status) == (NOT_STARTED, MissionStatus.SUCCEEDED)
    assert "another" in first.error or "other" in first.error
