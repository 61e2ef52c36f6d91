import os
from pathlib import Path

import pytest
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

from orchestrator.adapters.storage.payload_folder import PayloadFolder
from orchestrator.adapters.temporal.mission_converter import LockedInput, mission_converter
from orchestrator.adapters.temporal.payload_codec import error_of, is_mark, key_id_of, mark_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.adapters.temporal.payload_references import PayloadReferences
from orchestrator.core.payload_errors import PayloadLost

pytestmark = pytest.mark.unit
PAYLOAD = Payload(metadata={"encoding": b"json/plain"}, data=b'"Zephyrine Oakhollow"')
LONG = "Zephyrine Oakhollow " * 1_000
READING = StorageDriverRetrieveContext()


@pytest.fixture
def folder(tmp_path: Path) -> PayloadFolder:
    return PayloadFolder(tmp_path / "payloads", marked=mark_of)


def of_workflow(workflow_id: str, namespace: str = "default") -> StorageDriverStoreContext:
    return StorageDriverStoreContext(StorageDriverWorkflowInfo(namespace=namespace, id=workflow_id))


@pytest.mark.parametrize("workflow_id", ["trip-1.leg", "../../etc", "..", ".", "a/b", "ü ?", ""])
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


async def test_what_was_changed_is_told_and_not_read(folder: PayloadFolder) -> None:
    (claim,) = await folder.store(of_workflow("m"), [PAYLOAD])
    (kept,) = [path for path in folder.folder.rglob("*") if path.is_file()]
    kept.write_bytes(b"other")
    (mark,) = await folder.retrieve(READING, [claim])
    assert "its file was changed" in str(error_of(mark))


def stored(folder: PayloadFolder, keys: PayloadKeys) -> DataConverter:
    return mission_converter(keys, ExternalStorage([folder], payload_size_threshold=1_000))


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
