"""Documents that change while missions run: each mission keeps the contract it began with."""

import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import TRIP
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.saga.obligation import ObligationState
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually, run_to_end
from tests.forked import ForkedStack
from tests.integration.installations import standing

Document = dict[str, Any]
Change = Callable[[Document], None]

_BOOKED = ("flight_book_offer", "hotel_book_room", "expense_file_report")


def _rename_fields(document: Document) -> None:
    """Every id gets another name, in bodies, parameters and answers alike."""
    text = yaml.safe_dump(document)
    for name in ("booking_id", "room_offer_id", "offer_id", "report_id"):
        text = text.replace(name, f"the_{name}")
    document.clear()
    document.update(yaml.safe_load(text))


def _move_paths(document: Document) -> None:
    """Every path gets a prefix that the provider does not know."""
    document["paths"] = {f"/v9{path}": item for path, item in document["paths"].items()}


def _remove_operations(document: Document) -> None:
    """Nothing can be booked any more, nor cancelled."""
    gone = ("x-orchet-cancels", "x-orchet-cancel-for")
    for item in document["paths"].values():
        for method in [m for m, o in item.items() if any(keyword in o for keyword in gone)]:
            del item[method]


@pytest.fixture(scope="module")
async def own_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """An installation over a copy of the documents, so that they can be changed."""
    folder = tmp_path_factory.mktemp("changing")
    specs = shutil.copytree(bundled_specs(), folder / "specs")
    installation = ForkedStack(folder / "state", (specs,), Ports.free())
    async with standing(installation):
        yield installation


async def _restore(stack: Stack) -> None:
    """The documents as they were, and a worker that has read them."""
    (specs,) = stack.specs
    shutil.copytree(bundled_specs(), specs, dirs_exist_ok=True)
    await stack.kill("worker")
    await stack.start_worker()


@dataclass(frozen=True)
class Overtaken:
    """Two missions that began on documents which then were changed, the worker replaced."""

    began_with: str
    now: str
    undecided: MissionHandle
    """Waits for its first decisions."""
    booked: MissionHandle
    """Has booked something."""


CHANGES = [
    pytest.param(_rename_fields, marks=pytest.mark.long),
    pytest.param(_move_paths, marks=pytest.mark.long),
    _remove_operations,
]
"""Each is kept from missions by the same catalog; that which leaves least is tried in every run."""


@pytest.fixture(scope="module", params=CHANGES)
async def overtaken(request: pytest.FixtureRequest, own_stack: Stack) -> Overtaken:
    """What became of both documents and missions before a test decides on one of these."""
    await _restore(own_stack)
    began_with = Catalog.load(*own_stack.specs).digest
    undecided = await _stopped_at_a_card(own_stack)
    booked = await _stopped_at_a_card(own_stack)
    async with SandboxClient(own_stack.sandbox_url) as sandbox:
        for card in await booked.confirmations():
            await approve(booked, card)

        async def something_is_booked() -> bool:
            return bool(await sandbox.live(booked.mission_id))

        await eventually(something_is_booked)
    now = await _change_and_restart(own_stack, request.param)
    return Overtaken(began_with, now, undecided, booked)


def _change(specs: Path, change: Change) -> None:
    """Changes the documents of a trip on disk."""
    for name in ("flights", "hotels", "expenses"):
        file = specs / f"{name}.yaml"
        document = yaml.safe_load(file.read_text())
        change(document)
        file.write_text(yaml.safe_dump(document, sort_keys=False))


async def _stopped_at_a_card(stack: Stack) -> MissionHandle:
    client = await stack.client()
    mission = await client.start(MissionRequest(goal=TRIP))
    await eventually(mission.confirmations)
    return mission


async def _change_and_restart(stack: Stack, change: Change) -> str:
    """Change the documents, kill the worker and start another; gives the new digest."""
    (specs,) = stack.specs
    _change(specs, change)
    await stack.kill("worker")
    await stack.start_worker()
    return Catalog.load(specs).digest


async def test_a_mission_finishes_on_the_contract_it_began_with(
    overtaken: Overtaken, own_stack: Stack
) -> None:
    """Started before, approved after: everything is booked by the names and paths of then."""
    mission = overtaken.undecided
    result = await run_to_end(mission)

    assert overtaken.now != overtaken.began_with
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert {o.tool for o in result.ledger.obligations} == set(_BOOKED)
    assert {o.catalog_digest for o in result.ledger.obligations} == {overtaken.began_with}
    async with SandboxClient(own_stack.sandbox_url) as sandbox:
        assert len(await sandbox.live(mission.mission_id)) == len(_BOOKED)
        assert await sandbox.duplicates(mission.mission_id) == []


async def test_a_mission_is_rolled_back_on_the_contract_it_began_with(
    overtaken: Overtaken, own_stack: Stack
) -> None:
    """Booked before, refused after: what was booked is cancelled as its contract said then."""
    mission = overtaken.booked
    async with SandboxClient(own_stack.sandbox_url) as sandbox:
        await sandbox.set_faults(
            [FaultRule(operation_id="expense_file_report", kind="status_before", status=409)]
        )
        result = await run_to_end(mission)
        await sandbox.clear_faults()

        assert overtaken.now != overtaken.began_with
        assert result.status is MissionStatus.ROLLED_BACK, result.error
        states = {o.tool: o.state for o in result.ledger.obligations}
        assert states.pop("expense_file_report") is ObligationState.VOID
        assert set(states.values()) == {ObligationState.CANCELLED}
        assert {o.catalog_digest for o in result.ledger.obligations} == {overtaken.began_with}
        assert await sandbox.live(mission.mission_id) == []


async def test_a_mission_that_starts_after_a_change_has_another_contract(own_stack: Stack) -> None:
    """Old and new missions run side by side on one worker, each on its own catalog."""
    await _restore(own_stack)
    began_with = Catalog.load(*own_stack.specs).digest
    before = await _stopped_at_a_card(own_stack)

    now = await _change_and_restart(own_stack, _name_the_airline)
    after = await _stopped_at_a_card(own_stack)

    assert began_with != now
    for mission, digest in ((before, began_with), (after, now)):
        result = await run_to_end(mission)
        assert result.status is MissionStatus.SUCCEEDED, result.error
        assert result.catalog_digest == digest
        assert {o.catalog_digest for o in result.ledger.obligations} == {digest}
    kept = Store(own_stack.settings.state_dir).catalogs
    assert {kept.get(digest).digest for digest in (began_with, now)} == {began_with, now}


def _name_the_airline(document: Document) -> None:
    """A change that the provider goes along with."""
    document["info"]["description"] = "Another text."
