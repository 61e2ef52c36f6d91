"""The data converter of every client and worker of ours: how messages become what is recorded."""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter, PydanticPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    EncodingPayloadConverter,
    ExternalStorage,
    PayloadConverter,
)
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.temporal.payload_codec import LOCKED, EncryptionCodec, error_of, is_mark
from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.core.payload_errors import PayloadLocked, PayloadLost, PayloadUnread


def mission_converter(
    keys: PayloadKeys | None = None, external_storage: ExternalStorage | None = None
) -> DataConverter:
    """How messages are written: as JSON, encrypted where there are keys, large ones elsewhere.

    Without keys nothing is encrypted, and what others have encrypted is refused, not misread.
    """
    keys = keys or PayloadKeys()
    return DataConverter(
        payload_converter_class=MissionPayloadConverter,
        payload_codec=EncryptionCodec(keys),
        failure_converter_class=EncodedFailures if keys.ids else PlainFailures,
        external_storage=external_storage,
    )


class LockedInput:
    """What an activity is given in the place of a payload that no key here opens."""

    def __init__(self, why: PayloadUnread) -> None:
        """Take why it is locked."""
        self.why = why


class _Marks(EncodingPayloadConverter):
    """Reads the marks of locked payloads: a workflow's task fails, to be tried by another worker.

    An activity gets the mark, and `LockedCalls` keeps it from running.
    """

    @property
    def encoding(self) -> str:
        """That of the marks."""
        return LOCKED.decode()

    def to_payload(self, value: Any) -> None:
        """Nothing is written so."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> LockedInput:
        """The mark.

        Raises:
            PayloadUnread: a workflow was to be given it.
        """
        why = error_of(payload)
        if not _is_read_by_worker():
            raise why
        return LockedInput(why)


def _is_read_by_worker() -> bool:
    """Whether this is read for an activity: in a task of the worker's own event loop.

    What workflows are given is read in a thread of theirs, before their own loop runs or in it.
    """
    try:
        return asyncio.current_task() is not None and not workflow.in_workflow()
    except RuntimeError:
        return False


class _SparseJson(PydanticJSONPlainPayloadConverter):
    """Pydantic's JSON without what says nothing: fields that have their defaults.

    Whoever reads it has the same defaults, for those of messages never change. A third of what
    histories held were empty lists and limits that nobody had set.
    """

    def to_payload(self, value: Any) -> Payload:
        """The value."""
        data = self._schema_serializer.to_json(value, exclude_defaults=True)
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


_JSON = _SparseJson()
"""One for all runs: it remembers how each type is read."""
_SDKS = PydanticPayloadConverter().converters.values()
_OTHERS = (one for one in _SDKS if one.encoding != _JSON.encoding)
_CONVERTERS = (*_OTHERS, _JSON, _Marks())


class MissionPayloadConverter(CompositePayloadConverter):
    """Pydantic's JSON, and the marks of what is locked.

    The SDK makes several for each workflow task and one for each payload of an activity: all share
    what they are made of.
    """

    def __init__(self) -> None:
        """Take the converters that all share."""
        super().__init__(*_CONVERTERS)


class PlainFailures(DefaultFailureConverter):
    """Failures with their words in the clear."""

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Write the exception down."""
        super().to_failure(_told(exception), payload_converter, failure)

    def from_failure(self, failure: Failure, payload_converter: PayloadConverter) -> BaseException:
        """The exception.

        Raises:
            PayloadUnread: its words are. The SDK would go on without them, and what a
                workflow makes of a failure has to be the same on every worker.
        """
        if is_mark(failure.encoded_attributes):
            raise error_of(failure.encoded_attributes)
        return super().from_failure(failure, payload_converter)


class EncodedFailures(PlainFailures):
    """Failures whose words and stack traces are payloads, and so encrypted.

    Only that a payload cannot be read is said in the clear, for who reads it may lack the key.
    """

    def __init__(self) -> None:
        """Turn the encoding on."""
        DefaultFailureConverter.__init__(self, encode_common_attributes=True)
        self._plain = PlainFailures()

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        """Write the exception down."""
        if _tells_what_is_unread(_told(exception)):
            self._plain.to_failure(exception, payload_converter, failure)
        else:
            super().to_failure(exception, payload_converter, failure)


def _told(exception: BaseException) -> BaseException:
    """What cannot be read, where the SDK wraps that in words which do not say it."""
    cause = exception.__cause__
    is_wrapped = isinstance(cause, PayloadUnread) and isinstance(exception, RuntimeError)
    return cause if cause is not None and is_wrapped else exception


def _tells_what_is_unread(exception: BaseException) -> bool:
    if isinstance(exception, ApplicationError):
        return exception.type in (PayloadLocked.__name__, PayloadLost.__name__)
    return isinstance(exception, PayloadUnread)
