"""Our records under data converters of others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import CompositePayloadConverter, DataConverter, JSONPlainPayloadConverter

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.plain_records import with_plain_records
from orchestrator.messages.mission_policy import MissionPolicy


class Loud(CompositePayloadConverter):
    """A converter of somebody's own, with an encoding of its own."""

    def __init__(self) -> None:
        super().__init__(JSONPlainPayloadConverter(encoding="json/loud"))


@pytest.mark.parametrize(
    "theirs", [DataConverter.default, replace(DataConverter.default, payload_converter_class=Loud)]
)
def test_records_are_json_objects_that_the_other_converter_writes(theirs: DataConverter) -> None:
    """Other values pass as they are."""
    ours = with_plain_records(theirs)
    converter = ours.payload_converter
    policy = MissionPolicy(deadline=timedelta(hours=3))
    values: list[Any] = [policy, {"a": 1}, policy]
    written = converter.to_payloads(values)
    read = converter.from_payloads(written, [MissionPolicy, dict, MissionPolicy | None])  # type: ignore[list-item]
    removed = converter.from_payloads(converter.to_payloads([None]), [MissionPolicy])

    assert read == values
    assert removed == [None]
    assert written[1] == theirs.payload_converter.to_payloads(values[1:2])[0]
    assert issubclass(ours.payload_converter_class, theirs.payload_converter_class)
    assert converter.from_payloads(written[:1]) == [{"deadline": 10800.0}]


@pytest.mark.parametrize("theirs", [pydantic_data_converter, mission_converter()])
def test_a_converter_that_writes_models_stays(theirs: DataConverter) -> None:
    """It takes our records by itself."""
    assert with_plain_records(theirs).payload_converter_class is theirs.payload_converter_class


def test_a_payload_of_another_release_is_read() -> None:
    """Fields that it does not know are left out."""
    converter = with_plain_records(DataConverter.default).payload_converter
    newer = Payload(metadata={"encoding": b"json/plain"}, data=b'{"hand_overs":1,"new":2}')

    assert converter.from_payloads([newer], [MissionPolicy]) == [MissionPolicy(hand_overs=1)]
