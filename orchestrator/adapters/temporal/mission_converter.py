"""The data converter of every client and worker of this project."""

import asyncio
from typing import Any, Final

from pydantic_core import SchemaSerializer, core_schema
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter, PydanticPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    EncodingPayloadConverter,
    PayloadConverter,
)
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.temporal.payload_codec import LOCKED, EncryptionCodec, error_of, is_mark
from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.core.errors import PayloadLocked


def mission_converter(keys: PayloadKeys | None = None) -> DataConverter:
    """Return a converter to JSON that encrypts, if there are keys.

    Without keys nothing is encrypted, and payloads that others encrypted are refused, not misread.
    """
    keys = keys or PayloadKeys()
    return DataConverter(
        payload_converter_class=MissionPayloadConverter,
        payload_codec=EncryptionCodec(keys),
        failure_converter_class=EncodedFailures if keys.ids else PlainFailures,
    )


class LockedInput:
    """The argument of an activity in place of a payload that no key of this process decrypts."""

    def __init__(self, why: PayloadLocked) -> None:
        self.why = why


class _Marks(EncodingPayloadConverter):
    """Read the marks of locked payloads: a workflow's task fails, so another worker retries it.

    An activity receives the mark, and `LockedCalls` stops it from running.
    """

    @property
    def encoding(self) -> str:
        """Return the encoding of the marks."""
        return LOCKED.decode()

    def to_payload(self, value: Any) -> None:
        """Return None: no value is written as a mark."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> LockedInput:
        """Return the mark as the input of an activity.

        Raises:
            PayloadLocked: the payload was meant for a workflow.
        """
        why = error_of(payload)
        if not _is_read_by_worker():
            raise why
        return LockedInput(why)


def _is_read_by_worker() -> bool:
    """Return True if an activity's input is being read: in a task of the worker's event loop.

    The input of workflows is read in a thread, before the workflow's own loop runs or inside it.
    """
    try:
        return asyncio.current_task() is not None and not workflow.in_workflow()
    except RuntimeError:
        return False


_ANYTHING: Final = SchemaSerializer(core_schema.any_schema())


class _SparseJson(PydanticJSONPlainPayloadConverter):
    """Pydantic's JSON without fields that have their defaults, and without computed fields.

    Readers have the same defaults, because the defaults of messages never change, and compute the
    same values. A third of the recorded histories was empty lists and limits that nobody had set.
    """

    def to_payload(self, value: Any) -> Payload:
        """Return the value as a JSON payload."""
        data = _ANYTHING.to_json(value, exclude_defaults=True, exclude_computed_fields=True)
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


_JSON = _SparseJson()
"""Shared by all runs, because it caches how each type is read."""
_SDKS = PydanticPayloadConverter().converters.values()
_OTHERS = (one for one in _SDKS if one.encoding != _JSON.encoding)
_CONVERTERS = (*_OTHERS, _JSON, _Marks())


class MissionPayloadConverter(CompositePayloadConverter):
    """Pydantic's JSON, and the marks of locked payloads.

    The SDK creates several instances for each workflow task and one for each payload of an
    activity, so all instances share their converters.
    """

    def __init__(self) -> None:
        super().__init__(*_CONVERTERS)


class PlainFailures(DefaultFailureConverter):
    """Failures whose messages are not encrypted."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Write the exception into the failure."""
        super().to_failure(_with_details(exception), payload_converter, failure)

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        """Return the exception.

        Raises:
            PayloadLocked: its message cannot be read. The SDK would continue without the
                message, and a workflow must handle a failure in the same way on every worker.
        """
        if is_mark(failure.encoded_attributes):
            raise error_of(failure.encoded_attributes)
        return super().from_failure(failure, payload_converter)


class EncodedFailures(PlainFailures):
    """Failures whose messages and stack traces are payloads, and therefore encrypted.

    Only the failure that a payload cannot be read stays unencrypted, because its reader may not
    have the key.
    """

    def __init__(self) -> None:
        DefaultFailureConverter.__init__(self, encode_common_attributes=True)
        self._plain = PlainFailures()

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Write the exception into the failure."""
        if _names_unreadable_payload(_with_details(exception)):
            self._plain.to_failure(exception, payload_converter, failure)
        else:
            super().to_failure(exception, payload_converter, failure)


def _with_details(exception: BaseException) -> BaseException:
    """Return the `PayloadLocked` that the SDK wrapped in a RuntimeError without its message."""
    cause = exception.__cause__
    is_wrapped = isinstance(cause, PayloadLocked) and isinstance(exception, RuntimeError)
    return cause if cause is not None and is_wrapped else exception


def _names_unreadable_payload(exception: BaseException) -> bool:
    if isinstance(exception, ApplicationError):
        return exception.type == PayloadLocked.__name__
    return isinstance(exception, PayloadLocked)
