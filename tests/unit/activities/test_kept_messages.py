"""Messages are whole again where they are read, whatever of them was kept where and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.kept_messages import KeptMessages
from orchestrator.core.errors import ObservationMissing, StateMissing
from orchestrator.messages.step import KeptMessage
from orchestrator.messages.tool_call import PrepareInput
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing.installation import fake_selection
from tests.fakes import MemoryObservations
from tests.unit.activities.made_calls import made_call
from tests.unit.activities.planners import step_context

NOW = datetime(2026, 11, 23, tzinfo=UTC)
LONG: JsonValue = {"id": "F-1", "rows": [{"n": n, "text": "x" * 100} for n in range(20)]}
CALL = made_call("m.1-a.1", tool="look", past="before")


def context(*seen: Observation, facts: tuple[Fact, ...] = ()) -> StepContext:
    return step_context("look", step=len(seen) + 1, facts=facts, observations=seen)


def message(whole: StepContext | PrepareInput, **more: Any) -> KeptMessage:
    told = whole.model_dump(mode="json")
    seen = told.pop("observations")
    fields = {"of_mission": "m", "terms": "t", "new_terms": told} | more
    return KeptMessage(changes={"observations": seen} | fields.pop("changes", {}), **fields)


def seen(step: int, outcome: ToolOutcome) -> Observation:
    return Observation(
        step=step, tool="look", outcome="succeeded", body=outcome.body, body_ref=outcome.body_ref
    )


def begun() -> MemoryObservations:
    """A store that has what the leg saw before."""
    store = MemoryObservations()
    store.put("m", "before", b"{}")
    return store


async def answered(kept: KeptMessages, body: JsonValue = LONG) -> ToolOutcome:
    return await kept.shortened(ToolOutcome(kind="succeeded", body=body), CALL)


async def test_a_long_body_is_replaced_by_a_short_form() -> None:
    """It keeps the names at its top, and says where the whole is; a short one stays as it is."""
    kept = KeptMessages(begun())
    long = await answered(kept)
    short = await answered(kept, {"id": "F-1"})

    assert long.body_ref is not None
    assert len(str(long.body)) < 1_000
    assert isinstance(long.body, dict)
    assert long.body["id"] == "F-1"
    assert (short.body, short.body_ref) == ({"id": "F-1"}, None)


async def test_a_body_that_cannot_be_kept_stays() -> None:
    """What a provider did is told all the same.

    A worker on another disk keeps nothing that no other worker would find.
    """
    full = begun()
    full.is_full = True

    for store in (full, MemoryObservations()):
        outcome = await answered(KeptMessages(store))
        assert (outcome.body, outcome.body_ref) == (LONG, None)


async def test_steps_are_joined_in_their_order() -> None:
    """Those that were kept, then those that come along, by a worker that knows neither."""
    store = begun()
    kept = KeptMessages(store)
    whole = [seen(n, await answered(kept)) for n in (1, 2, 3)]
    await kept.keep(message(context(), keep_as="k0"), fake_selection("look", catalog_size=1))
    first = message(context(whole[0]), past="k0", keep_as="k1")
    await kept.context(first)
    await kept.keep(first, fake_selection("look", catalog_size=1))
    second = message(context(whole[1]), past="k1", keep_as="k2")
    await kept.keep(second, fake_selection("look", "more", catalog_size=2))
    third = message(context(whole[2]), past="k2", new_terms=None, changes={"step": 4})

    for reader in (kept, KeptMessages(store)):
        whole_context = await reader.context(third)
        assert [o.step for o in whole_context.observations] == [1, 2, 3]
        assert all(o.body == LONG and o.body_ref is None for o in whole_context.observations)
        assert (whole_context.step, whole_context.leg_goal) == (4, "look")


async def test_facts_are_chosen_by_their_whole_bodies() -> None:
    """What names a row that the short form has no room for is there, and nothing else is."""
    kept = KeptMessages(begun())
    outcome = await answered(kept)
    facts = tuple(
        Fact.model_validate(
            {"source": f"0-b.{n}", "tool": "look", "body": body, "body_ref": reference}
        )
        for n, (body, reference) in enumerate([(outcome.body, outcome.body_ref), ({"n": 99}, None)])
    )
    wanted = PrepareInput(**CALL.ref, arguments={"row": 19}, now=NOW, facts=facts)
    prepared = await kept.prepared(message(wanted), PrepareInput)

    assert [fact.body for fact in prepared.facts] == [LONG]


async def test_what_is_missing_says_where_it_was_looked_for() -> None:
    """Whichever of the pieces it is; a full disk is told as such."""
    store = begun()
    kept = KeptMessages(store)
    outcome = await answered(kept)
    store.lost = True
    for lost in (
        message(context(seen(1, outcome))),
        message(context(), past="k0"),
        message(context(), terms="t0", new_terms=None),
    ):
        with pytest.raises(ObservationMissing):
            await kept.context(lost)
    store.lost, store.is_full = False, True
    with pytest.raises(StateMissing, match="No space left"):
        await kept.context(message(context(), terms="t1"))


async def test_what_is_learnt_is_named_from_then_on() -> None:
    """The same message again, without what is kept now; a whole one stays as it is."""
    store = begun()
    kept = KeptMessages(store)
    told = message(context())
    old = context(Observation(step=1, tool="look", outcome="succeeded", body=LONG))
    learnt = await kept.learn(told)

    assert learnt.new_terms is None
    assert await KeptMessages(store).context(learnt) == await kept.context(told)
    assert await kept.learn(learnt) is learnt
    assert await kept.context(old) == old


class CountingStore(MemoryObservations):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        self.asked += 1
        return super().put(mission_id, key, piece)

    def get(self, mission_id: str, key: str) -> bytes:
        self.asked += 1
        return super().get(mission_id, key)


async def test_what_a_process_has_kept_or_read_it_asks_for_once() -> None:
    """Of the mission that it belongs to; another one has to have kept it itself."""
    store = CountingStore()
    kept = KeptMessages(store)
    first = message(context())
    named = first.model_copy(update={"new_terms": None, "changes": {"step": 2, "observations": []}})

    assert (await kept.context(first)).step == 1
    assert (await kept.context(first)).step == 1
    assert (await kept.context(named)).step == 2
    assert store.asked == 1
    with pytest.raises(ObservationMissing):
        await kept.context(named.model_copy(update={"of_mission": "another"}))


async def test_several_attempts_tell_of_one_selection() -> None:
    """The first that was kept: what a planner is shown is what history says."""
    store = MemoryObservations()
    first, second = (fake_selection(tool, catalog_size=2) for tool in ("look", "book"))
    wanted = message(context(), keep_as="k1")
    told = [await KeptMessages(store).keep(wanted, one) for one in (first, second)]

    assert told == [first, first]


async def test_a_look_at_the_store_looks_for_all_that_will_be_read() -> None:
    """What other legs found and what was selected too: else its leg would go on, and fail anew."""
    store = begun()
    kept = KeptMessages(store)
    outcome = await answered(kept)
    fact = Fact(source="0-b.1", tool="look", body=outcome.body, body_ref=outcome.body_ref)
    told = message(context(facts=(fact,)), keep_as="k1")
    selected = message(context(), keep_as="k2")
    await kept.keep(selected, fake_selection("look", catalog_size=1))
    await kept.context(message(context(), past="k2"))
    look = ActivityEnvironment().run

    await look(kept.read_kept, told)
    await look(kept.read_kept, message(context(), past="k2"))
    store.purge("m")
    for lacking in (told, message(context(), past="k2")):
        with pytest.raises(ApplicationError, match="what mission m has seen"):
            await look(kept.read_kept, lacking)
