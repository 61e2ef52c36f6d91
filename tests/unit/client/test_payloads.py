"""Which places of large payloads the settings mean: the first keeps, each is read."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from orchestrator.client.payloads import converter_of, payload_drivers_of
from orchestrator.core.errors import UsageError
from orchestrator.settings import Settings

pytestmark = pytest.mark.unit
LONG = "Zephyrine Oakhollow " * 100


async def test_who_moves_from_a_folder_to_the_store_still_reads_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "payloads"
    before = Settings(state_dir=tmp_path / "a", payload_store=str(folder), payload_store_over=1_000)
    after = before.model_copy(update={"payload_store": f"store, {folder}"})
    old = await converter_of(before).encode([LONG])
    new = await converter_of(after).encode([LONG + "!"])

    assert await converter_of(after).decode([*old, *new]) == [LONG, LONG + "!"]
    in_store, in_folder = payload_drivers_of(after)
    assert (list(in_store.workflows("-")), list(in_folder.workflows("-"))) == (["-"], ["-"])
    in_folder.purge("-", "-")
    assert await converter_of(after).decode(new) == [LONG + "!"]


@pytest.mark.parametrize("places", ["/a,/b", "store,store"])
def test_two_places_of_one_kind_are_refused(places: str) -> None:
    with pytest.raises(UsageError, match="two are of one kind"):
        payload_drivers_of(Settings(payload_store=places))


def test_drivers_of_others_are_not_ours_to_prune() -> None:
    assert payload_drivers_of(Settings()) == ()


def test_the_store_that_is_meant_is_the_one_that_is_set(tmp_path: Path) -> None:
    settings = Settings(
        state_dir=tmp_path,
        payload_store="store",
        store=SecretStr("postgresql://me:pa55word@db/missions"),
    )
    (driver,) = payload_drivers_of(settings)
    assert driver.place == "postgresql://me@db/missions"
