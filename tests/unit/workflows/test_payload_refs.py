"""Keys of what a leg's workers keep: the same in every replay, another one for another content."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from temporalio import workflow

from orchestrator.messages.step import KeptMessage
from orchestrator.planning.models import AgentProfile, Observation, StepContext
from orchestrator.workflows.payload_refs import PayloadRefs

NOW = datetime(2026, 11, 23, 9, 10, 4, tzinfo=UTC)
LATER = NOW + timedelta(seconds=19)
"""As a replay has it: a query that waited for a worker had applied events at the time before."""


@pytest.fixture(autouse=True)
def same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay, and a run of a restored server, draw the same random numbers again."""
    monkeypatch.setattr(workflow, "uuid4", lambda: UUID(int=7))


def seen(at: datetime, body: str = "a room") -> Observation:
    return Observation(step=1, tool="look", outcome="succeeded", body=body, at=at)


def context(now: datetime, *observed: Observation) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="1-a",
        step=1,
        mission_goal="look around",
        leg_goal="look",
        agent=AgentProfile(name="a"),
        observations=observed,
        now=now,
        catalog_digest="d",
    )


def sent(now: datetime, *observed: Observation, past: str = "") -> KeptMessage:
    return PayloadRefs().message(context(now, *observed), of_mission="m", past=past, keeps=True)


def test_a_replay_at_another_time_names_the_same_pieces() -> None:
    """A leg whose history has one key and whose state has another would wait for ever."""
    first, replayed = sent(NOW, seen(NOW)), sent(LATER, seen(LATER))

    assert (first.keep_as, first.terms) == (replayed.keep_as, replayed.terms)


def test_what_a_signal_brings_changes_no_key() -> None:
    """A replay has it before what the query had applied."""
    more = context(NOW, seen(NOW)).model_copy(update={"discovered": ("book",)})
    told = PayloadRefs().message(more, of_mission="m", past="", keeps=True)

    assert (told.keep_as, told.terms) == (sent(NOW, seen(NOW)).keep_as, sent(NOW, seen(NOW)).terms)


def test_what_was_seen_otherwise_has_another_key() -> None:
    """After a restore the same numbers come again."""
    keys = {
        sent(NOW).keep_as,
        sent(NOW, seen(NOW)).keep_as,
        sent(NOW, seen(NOW, "no room")).keep_as,
        sent(NOW, seen(NOW), past="before").keep_as,
    }

    assert len(keys) == 4
