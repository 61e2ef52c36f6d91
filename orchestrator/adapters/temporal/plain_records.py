"""Records of this project as plain JSON, under the data converter that a client already has."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic import TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter
from temporalio.converter import DataConverter, PayloadConverter

from orchestrator.adapters.temporal.mission_converter import MissionPayloadConverter
from orchestrator.core.record import Record


class _PlainRecords(PayloadConverter):
    """Mixin that passes JSON objects in place of records to the other converter."""

    def to_payloads(self, values: Sequence[Any]) -> list[Payload]:
        """Return the payloads, each as the other converter writes it."""
        return super().to_payloads([_plain(value) for value in values])  # type: ignore[safe-super]

    def from_payloads(
        self, payloads: Sequence[Payload], type_hints: list[type] | None = None
    ) -> list[Any]:
        """Return the values; an object whose type hint is a record is read as one."""
        kinds = type_hints or []
        theirs: list[Any] = [Any if _is_record(kind) else kind for kind in kinds]
        values: list[Any] = super().from_payloads(  # type: ignore[safe-super]
            payloads, theirs or None
        )
        return [
            _reader(kinds[at]).validate_python(value)
            if value is not None and at < len(kinds) and _is_record(kinds[at])
            else value  # no value is None under any type hint, as in the SDK's converters
            for at, value in enumerate(values)
        ]


_WRITES_MODELS: Final = (PydanticPayloadConverter, MissionPayloadConverter, _PlainRecords)


def with_plain_records(converter: DataConverter) -> DataConverter:
    """Return a data converter that also accepts records; everything else stays unchanged."""
    return replace(
        converter, payload_converter_class=_converter_class(converter.payload_converter_class)
    )


def client_for_records(client: Client) -> Client:
    """Return a client over the same connection that also accepts records.

    A client that already writes pydantic models is returned unchanged.
    """
    if issubclass(client.data_converter.payload_converter_class, _WRITES_MODELS):
        return client
    config = client.config(active_config=True)
    config["data_converter"] = with_plain_records(config["data_converter"])
    config["plugins"] = []  # the plugins have already changed this configuration
    return Client(**config)


@cache
def _converter_class(theirs: type[PayloadConverter]) -> type[PayloadConverter]:
    if issubclass(theirs, _WRITES_MODELS):
        return theirs
    return type(f"{theirs.__name__}WithRecords", (_PlainRecords, theirs), {})


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump(mode="json", exclude_defaults=True)
    return value


def _is_record(kind: Any) -> bool:
    if get_origin(kind) in (Union, UnionType):
        return all(_is_record(one) for one in get_args(kind) if one is not type(None))
    return isinstance(kind, type) and issubclass(kind, Record)


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
