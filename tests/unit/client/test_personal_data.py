"""What a start brings: told apart before anything is kept, and kept so that nobody is harmed."""

import contextlib
from pathlib import Path
from typing import cast

import pytest

from orchestrator.adapters.storage.sql_vault import SqlVault
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.operations import skipped
from orchestrator.client.start import BroughtInputs, Starter, separate_personal
from orchestrator.core.errors import DocumentInvalid, MissionIdTaken, NoWorker, UsageError
from orchestrator.core.pii import handle_of
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest, request_digest
from orchestrator.settings import Settings
from tests.fakes import fake_tool

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "traveler_id": {"type": "string"},
        "guests": {"type": "array", "items": {"type": "object", "properties": {"mail": {}}}},
    },
}
BOOK = fake_tool("book", personal=["traveler_id"], input_schema=SCHEMA)
CATALOG = Catalog({}, {BOOK.name: BOOK})


@pytest.fixture
def vault(tmp_path: Path) -> SqlVault:
    return Store(tmp_path).vault


def separated(vault: SqlVault, mission_id: str = "m", /, **inputs: object) -> BroughtInputs:
    return separate_personal(cast(JsonObject, inputs), CATALOG, vault, mission_id=mission_id)


def test_a_personal_value_stays_behind_its_handle(vault: SqlVault) -> None:
    """Nothing is kept yet; the same value for the same mission has the same handle."""
    one, again = (separated(vault, traveler_id="ALICE", guests=[]) for _ in range(2))
    other = separated(vault, traveler_id="BOB")
    elsewhere = separated(vault, "n", traveler_id="ALICE")

    assert one == again
    assert one.values == {"traveler_id": "ALICE"}
    assert len({str(b.inputs["traveler_id"]) for b in (one, other, elsewhere)}) == 3
    assert "ALICE" not in str(one.inputs)
    assert vault.contents().values == []


def test_what_only_a_skipped_operation_takes_is_personal_too(vault: SqlVault) -> None:
    """Its document says so, whatever else of it cannot be read; that no tool takes it is told."""
    fault = DocumentInvalid("trips", "/paths", "it refers to nothing")
    left_out = skipped("trip_insure", fault, ("passport_number",))
    catalog = Catalog({}, {BOOK.name: BOOK}, skipped=[left_out])
    brought = separate_personal({"passport_number": "X1"}, catalog, vault, mission_id="m")

    assert brought.values == {"passport_number": "X1"}
    assert "X1" not in str(brought.inputs)
    assert brought.undeclared == ("passport_number",)


@pytest.mark.parametrize("name", ["mail", "guests", "traveler_id"])
def test_names_that_a_tool_takes_are_declared(vault: SqlVault, name: str) -> None:
    """At any depth of its inputs; harmless others are told, which may be meant for the planner."""
    assert separated(vault, **{name: "ada@example.com"}).undeclared == ()
    assert separated(vault, mood="sunny", pace="slow").undeclared == ("mood", "pace")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("email", "ada@example.com", "looks like an e-mail address"),
        ("note", {"pay with": "4111111111111111"}, "looks like a card number"),
        ("ada@example.com", 1, "looks like an e-mail address"),
        ("traveller_id", "T-1", "did you mean traveler_id"),
        ("Traveler-Id", "T-1", "did you mean traveler_id"),
    ],
)
def test_what_would_be_kept_in_the_open_is_refused(
    vault: SqlVault, name: str, value: object, told: str
) -> None:
    """Without quoting it."""
    with pytest.raises(UsageError, match=told) as refused:
        separated(vault, **{name: value})

    assert not any(text in str(refused.value) for text in ("ada@", "4111"))


def test_the_handle_of_another_mission_is_refused(vault: SqlVault) -> None:
    """The owner's own may be named, with a version or without."""
    vault.bring("other", {"traveler_id": "BOB"}, claim="r")
    vault.put("traveler_id", "OWNER")
    foreign = vault.handles_of("other", {"traveler_id": "BOB"})["traveler_id"]
    with pytest.raises(UsageError, match="the mission other was started with"):
        separated(vault, traveler_id=str(foreign))

    for handle in (str(vault.current("traveler_id")), "pii:traveler_id"):
        assert separated(vault, traveler_id=handle).inputs == {"traveler_id": handle}


class _Refusing(Starter):
    """A starter whose server answers with an error; nothing is asked of it."""

    def __init__(self, folder: Path) -> None:
        self._settings = Settings.model_construct(state_dir=folder)

    async def bring(self, brought: BroughtInputs, error: Exception | None) -> MissionRequest:
        """What `start` does around the call to the server."""
        request = MissionRequest(goal="go", mission_id="m", inputs=brought.inputs)
        with pytest.raises(type(error)) if error else contextlib.nullcontext():
            async with self._kept(request, brought):
                if error is not None:
                    raise error
        return request


def values_of(vault: SqlVault) -> list[str]:
    return [kept.value for kept in vault.contents().values]


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (None, ["ALICE", "BOB"]),
        (MissionIdTaken("m"), ["ALICE"]),
        (NoWorker("q"), ["ALICE", "BOB"]),
        (ConnectionResetError(), ["ALICE", "BOB"]),
    ],
)
async def test_a_refused_start_leaves_what_others_brought_and_nothing_else(
    tmp_path: Path, vault: SqlVault, error: Exception | None, kept: list[str]
) -> None:
    """Where nobody knows whether it was taken on, its values stay: it may need them."""
    for name, answer in (("ALICE", None), ("BOB", error)):
        await _Refusing(tmp_path).bring(separated(vault, traveler_id=name), answer)

    assert values_of(vault) == kept


async def test_a_start_that_died_before_it_was_sent_is_repeated(
    tmp_path: Path, vault: SqlVault
) -> None:
    """The values are there once, and the request is the same."""
    requests = [
        await _Refusing(tmp_path).bring(separated(vault, traveler_id="ALICE"), error)
        for error in (ConnectionResetError(), None)
    ]

    assert len({request_digest(request) for request in requests}) == 1
    assert values_of(vault) == ["ALICE"]
    handle = handle_of(requests[0].inputs["traveler_id"])
    assert handle is not None
    assert vault.find(handle) is not None
