import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    ExternalStorage,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
    StorageDriverWorkflowInfo,
)

from orchestrator.adapters.storage.payload_driver import PayloadDriver, PayloadFolder
from orchestrator.adapters.storage.schema import payloads
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.temporal.mission_converter import LockedInput, mission_converter
from orchestrator.adapters.temporal.payload_codec import error_of, is_mark, key_id_of, mark_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.adapters.temporal.payload_use import PayloadReferences
from orchestrator.core.errors import PayloadLost

pytestmark = pytest.mark.unit
PAYLOAD = Payload(metadata={"encoding": b"json/plain"}, data=b'"Zephyrine Oakhollow"')
LONG = "Zephyrine Oakhollow " * 1_000
READING = StorageDriverRetrieveContext()
IDS = ["trip-1.leg", "../../etc", "..", ".", "a/b", "ü ?", ""]


@pytest.fixture
def folder(tmp_path: Path) -> PayloadFolder:
    return PayloadFolder(tmp_path / "payloads", marked=mark_of)


@pytest.fixture(params=["folder", "sqlite", "postgresql"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PayloadDriver]:
    """Each place that large payloads are kept in, empty."""
    if request.param == "folder":
        yield PayloadFolder(tmp_path / "payloads", marked=mark_of)
        return
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    with Store(tmp_path / "state", url=url) as store:
        yield store.payloads(marked=mark_of)


def of_workflow(workflow_id: str, namespace: str = "default") -> StorageDriverStoreContext:
    return StorageDriverStoreContext(StorageDriverWorkflowInfo(namespace=namespace, id=workflow_id))


@pytest.mark.parametrize("workflow_id", IDS)
async def test_what_is_kept_is_found_in_the_folder_alone(
    folder: PayloadFolder, workflow_id: str
) -> None:
    for _ in range(2):  # a writer that died is followed by another
        (claim,) = await folder.store(of_workflow(workflow_id), [PAYLOAD])
    assert await folder.retrieve(READING, [claim]) == [PAYLOAD]
    (kept,) = [path for path in folder.folder.parent.rglob("*") if path.is_file()]
    assert kept.parents[2] == folder.folder
    assert kept.stat().st_mode & 0o077 == 0
    assert list(folder.workflows("default")) == [workflow_id or "-"]
    folder.purge("default", workflow_id or "-")
    assert not kept.exists()


@pytest.mark.parametrize(
    "key",
    [
        "../secret",
        "/etc/passwd",
        "a/../../secret",
        f"../../{'0' * 64}",
        "",
        "a/b/c",
        f"a/b/{'0' * 64}",
    ],
)
async def test_a_reference_leads_out_of_the_folder_for_nobody(
    folder: PayloadFolder, key: str
) -> None:
    (folder.folder.parent / "secret").write_bytes(PAYLOAD.SerializeToString())
    (mark,) = await folder.retrieve(READING, [StorageDriverClaim({"key": key})])
    assert is_mark(mark) and isinstance(error_of(mark), PayloadLost)


async def test_what_is_kept_is_read_pruned_and_kept_again(driver: PayloadDriver) -> None:
    """Whatever a workflow is called, and of no workflow but the one that is named."""
    before = datetime.now(UTC) - timedelta(seconds=2)
    claims = {}
    for workflow_id in IDS:
        for _ in range(2):  # a writer that died is followed by another
            (claims[workflow_id],) = await driver.store(of_workflow(workflow_id), [PAYLOAD])
    assert await driver.retrieve(READING, list(claims.values())) == [PAYLOAD] * len(IDS)
    kept = driver.workflows("default")
    assert set(kept) == {workflow_id or "-" for workflow_id in IDS}
    assert all(at > before for at in kept.values())
    assert driver.workflows("other") == {}
    driver.purge("other", "a/b")
    for _ in range(2):
        driver.purge("default", "a/b")
    (gone, there) = await driver.retrieve(READING, [claims["a/b"], claims[".."]])
    assert isinstance(error_of(gone), PayloadLost)
    assert there == PAYLOAD
    (again,) = await driver.store(of_workflow("a/b"), [PAYLOAD])
    assert await driver.retrieve(READING, [again]) == [PAYLOAD]


async def test_another_machine_reads_what_one_has_kept(postgres_url: str, tmp_path: Path) -> None:
    """Each with a folder of its own; and what was changed in the store is told, and not read."""
    keys = PayloadKeys.of_text(f"k1:{new_payload_key()}")
    with (
        Store(tmp_path / "here", url=postgres_url) as here,
        Store(tmp_path / "there", url=postgres_url) as there,
    ):
        (large,) = await stored(here.payloads(marked=mark_of), keys).encode([LONG])
        reading = there.payloads(marked=mark_of)
        assert await stored(reading, keys).decode([large]) == [LONG]
        engine = sa.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            (content,) = connection.execute(sa.select(payloads.c.content)).scalars()
            assert b"Zephyrine" not in content
            connection.execute(sa.update(payloads).values(content=b"other"))
        engine.dispose()
        with pytest.raises(PayloadLost, match="was changed"):
            await stored(reading, keys).decode([large])


async def test_a_store_that_is_away_fails_no_reader(tmp_path: Path) -> None:
    away = Store(tmp_path, url="postgresql://me:pa55word@127.0.0.1:1/missions")
    driver = away.payloads(marked=mark_of)
    key = f"default/m/{'0' * 64}"
    (mark,) = await driver.retrieve(READING, [StorageDriverClaim({"key": key})])
    assert isinstance(error_of(mark), PayloadLost)
    assert "pa55word" not in str(error_of(mark))
    with pytest.raises(PayloadLost, match=r"127\.0\.0\.1"):
        await driver.store(of_workflow("m"), [PAYLOAD])


def stored(driver: PayloadDriver, keys: PayloadKeys) -> DataConverter:
    return mission_converter(keys, ExternalStorage([driver], payload_size_threshold=1_000))


async def test_large_payloads_are_kept_encrypted_and_read_again(folder: PayloadFolder) -> None:
    converter = stored(folder, PayloadKeys.of_text(f"k1:{new_payload_key()}"))
    (small, large) = await converter.encode(["small", LONG])
    assert (len(large.data) < 1_000, "small" in str(small)) == (True, False)
    (kept,) = [path for path in folder.folder.rglob("*") if path.is_file()]
    assert b"Zephyrine" not in kept.read_bytes()
    assert await converter.decode([small, large]) == ["small", LONG]


async def test_what_is_away_fails_no_activity(folder: PayloadFolder) -> None:
    converter = stored(folder, PayloadKeys())
    (large,) = await converter.encode([LONG])
    os.rename(folder.folder, folder.folder.with_name("away"))
    with pytest.raises(PayloadLost, match="No such file"):
        await converter.decode([large])
    in_activity = ActivitySerializationContext(
        namespace="default",
        workflow_id="m",
        workflow_type="LegWorkflow",
        activity_type="plan_step",
        activity_id="1",
        activity_task_queue="q",
        is_local=False,
    )
    (given,) = await converter.with_context(in_activity).decode([large])
    assert isinstance(given, LockedInput)


async def test_what_cannot_be_kept_is_told(folder: PayloadFolder) -> None:
    folder.folder.write_text("a file, and no folder")
    with pytest.raises(PayloadLost):
        await folder.store(of_workflow("m"), [PAYLOAD])


async def test_a_reference_is_followed_to_what_it_names(folder: PayloadFolder) -> None:
    keys = PayloadKeys.of_text(f"k1:{new_payload_key()}")
    (large,) = await stored(folder, keys).encode([LONG])
    named = await PayloadReferences(ExternalStorage([folder])).fetched(large)
    assert (key_id_of(large), key_id_of(named)) == (None, "k1")
    with pytest.raises(PayloadLost, match="no such store is set here"):
        await PayloadReferences(None).fetched(large)
