"""Payload keys, and payloads that are encrypted with them."""

import time
from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.temporal import payload_keys
from orchestrator.adapters.temporal.mission_converter import LockedInput, mission_converter
from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.adapters.temporal.payload_keys import (
    PayloadKeys,
    new_payload_key,
    read_payload_keys,
)
from orchestrator.client.start import new_mission_id
from orchestrator.core.errors import PayloadLocked, UsageError
from orchestrator.messages.mission import MissionRequest
from orchestrator.settings import Settings

pytestmark = pytest.mark.unit
OLD, NEW = new_payload_key(), new_payload_key()
BOTH = PayloadKeys.of_text(f"new:{NEW},old:{OLD}")
ONLY_OLD = PayloadKeys.of_text(f"old:{OLD}")
PLANTED = "Zephyrine Oakhollow"
GIVEN = MissionRequest(goal=f"a flight for {PLANTED}")
IN_ACTIVITY = ActivitySerializationContext(
    namespace="default",
    workflow_id="m",
    workflow_type="MissionWorkflow",
    activity_type="plan",
    activity_id="1",
    activity_task_queue="q",
    is_local=False,
)


async def test_what_is_encrypted_comes_back() -> None:
    converter = mission_converter(BOTH)
    (payload,), (again,) = [await converter.encode([GIVEN]) for _ in range(2)]
    assert key_id_of(payload) == "new"
    assert PLANTED.encode() not in payload.SerializeToString()
    assert payload.data != again.data
    assert await converter.decode([payload], [MissionRequest]) == [GIVEN]


@pytest.mark.parametrize(
    ("writing", "reading"),
    [
        (mission_converter(ONLY_OLD), mission_converter(BOTH)),
        (pydantic_data_converter, mission_converter(BOTH)),
        (mission_converter(), pydantic_data_converter),
    ],
    ids=["the old key, with the new one in use", "before there were keys", "plain without keys"],
)
async def test_what_was_written_otherwise_is_read(
    writing: DataConverter, reading: DataConverter
) -> None:
    (payload,) = await writing.encode([GIVEN])
    assert await reading.decode([payload], [MissionRequest]) == [GIVEN]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (PayloadKeys(), "'new', and no payload keys are set here"),
        (ONLY_OLD, "'new', and only 'old' is known here"),
        (PayloadKeys.of_text(f"new:{OLD}"), "'new', and the key of that id here does not open it"),
    ],
    ids=["no-keys", "another-key", "wrong-key"],
)
async def test_what_no_key_opens_is_refused_in_a_sentence(keys: PayloadKeys, said: str) -> None:
    (payload,) = await mission_converter(BOTH).encode([GIVEN])
    with pytest.raises(PayloadLocked, match=said) as locked:
        await mission_converter(keys).decode([payload], [MissionRequest])
    assert NEW not in str(locked.value)


@pytest.mark.parametrize("spoil", ["data", "key id", "empty"])
async def test_what_was_changed_is_refused(spoil: str) -> None:
    (payload,) = await mission_converter(BOTH).encode([GIVEN])
    if spoil == "data":
        payload.data = payload.data[:-1] + bytes([payload.data[-1] ^ 1])
    elif spoil == "key id":
        payload.metadata["encryption-key-id"] = b"old"
    else:
        payload.data = b""
    with pytest.raises(PayloadLocked, match="does not open it"):
        await mission_converter(BOTH).decode([payload])


async def test_an_activity_is_given_a_mark_and_a_workflow_nothing() -> None:
    (payload,) = await mission_converter(BOTH).encode([GIVEN])
    poor = mission_converter(ONLY_OLD)
    (given,) = await poor.with_context(IN_ACTIVITY).decode([payload], [MissionRequest])
    assert isinstance(given, LockedInput) and "'new'" in str(given.why)
    in_workflow = WorkflowSerializationContext(namespace="default", workflow_id="m")
    with pytest.raises(PayloadLocked):
        await poor.with_context(in_workflow).decode([payload], [MissionRequest])


async def test_words_and_traces_of_failures_are_encrypted() -> None:
    converter, failure = mission_converter(BOTH), Failure()
    try:
        raise ApplicationError(f"no seat for {PLANTED}", {"who": PLANTED}, type="SeatMissing")
    except ApplicationError as raised:
        raised.__cause__ = ValueError(f"{PLANTED} is not there")
        await converter.encode_failure(raised, failure)
    assert PLANTED.encode() not in failure.SerializeToString()
    assert "raise ApplicationError" not in str(failure)
    assert failure.application_failure_info.type == "SeatMissing"
    error = await converter.decode_failure(failure)
    assert isinstance(error, ApplicationError)
    assert (error.message, error.details[0]) == (f"no seat for {PLANTED}", {"who": PLANTED})
    assert str(error.__cause__) == f"ValueError: {PLANTED} is not there"


async def test_a_failure_whose_words_are_locked_is_not_read_without_them() -> None:
    """That a key is missing is told in the clear."""
    failure, lacking, poor = Failure(), Failure(), mission_converter(ONLY_OLD)
    await mission_converter(BOTH).encode_failure(ApplicationError("words"), failure)
    await mission_converter(BOTH).encode_failure(PayloadLocked("k3", "it is not here"), lacking)
    assert "'k3'" in lacking.message
    for reading in (poor.with_context(IN_ACTIVITY), poor):
        with pytest.raises(PayloadLocked):
            await reading.decode_failure(failure)


def test_an_id_tells_nothing_of_a_goal_that_is_encrypted() -> None:
    assert new_mission_id("Book a flight for Zephyrine").startswith("book-")
    assert new_mission_id("Book a flight for Zephyrine", names_goal=False).startswith("mission-")
    assert new_mission_id("Zephyrine wants a flight").startswith("mission-")
    assert Settings(payload_keys=SecretStr(f"k:{NEW}")).encrypts and not Settings().encrypts


@pytest.mark.parametrize("between", [",", "\n", " ", ",\n  "])
def test_the_first_key_encrypts(between: str) -> None:
    keys = PayloadKeys.of_text(f"# two of them\nnew:{NEW}{between}old:{OLD}")
    assert keys.ids == ("new", "old")
    encrypting = keys.encrypting()
    assert encrypting is not None and encrypting[0] == "new"
    assert PayloadKeys().encrypting() is None
    assert NEW not in repr(keys)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (NEW, "place 1 has no id"),
        (f"a b:{NEW}", "place 1 has no id"),
        (f"ü:{NEW}", "place 1 has no id"),
        (f"a:{NEW},a:{OLD}", "'a' is there twice"),
        ("a:hello", "what 'a' names is not 32 bytes"),
        ("a:", "what 'a' names is not 32 bytes"),
        (f"a:{NEW[:20]}", "what 'a' names is not 32 bytes"),
    ],
    ids=range(7),  # keys are random, and names of tests the same in each process
)
def test_what_is_no_key_is_told_without_quoting_it(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as fault:
        read_payload_keys(written, "HERE")
    assert NEW not in str(fault.value) and NEW[:20] not in str(fault.value)


def test_a_missing_key_is_looked_for_in_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"old:{OLD}")
    keys = PayloadKeys.of_file(file)
    file.write_text(f"new:{NEW}\nold:{OLD}")
    with pytest.raises(PayloadLocked, match="only 'old' is known here"):
        keys.decrypting("new")
    monkeypatch.setattr(time, "monotonic", lambda: keys._looked_at + payload_keys._LOOK_AGAIN_S)
    keys.decrypting("new")
    assert keys.ids == ("new", "old")


def test_a_file_that_is_spoilt_later_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"old:{OLD}")
    keys = PayloadKeys.of_file(file)
    file.write_text("")
    monkeypatch.setattr(time, "monotonic", lambda: keys._looked_at + payload_keys._LOOK_AGAIN_S)
    with pytest.raises(PayloadLocked):
        keys.decrypting("new")
    assert keys.ids == ("old",)


@pytest.mark.parametrize("content", [None, "", "# nothing\n"])
def test_a_file_without_keys_is_refused_at_once(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "keys").write_text(content)
    with pytest.raises(UsageError):
        PayloadKeys.of_file(tmp_path / "keys")
