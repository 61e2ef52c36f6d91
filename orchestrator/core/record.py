"""The base of every value that is passed around: frozen, typed, JSON in and JSON out."""

import re
from typing import Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
)


class Record(BaseModel):
    """An immutable value.

    Unknown fields are ignored on reading, so that a worker of the last release can read what a
    newer one wrote; new fields need defaults for the same reason.
    """

    # Validators are built when a record is first made or read: a command of ours uses a few of the
    # two hundred, and builds none of the others each time it starts.
    model_config = ConfigDict(frozen=True, ser_json_timedelta="float", defer_build=True)


class OneOfSeveral(Record):
    """A value that is read by its `kind`, which is written also where defaults are not."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **write(self)}


JsonObject = dict[str, JsonValue]
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def id_text(value: JsonValue) -> str:
    """Return the text that all values of one id have: numbers by value, UUIDs in lower case."""
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    return text.lower() if _UUID.fullmatch(text) else text


def same_id(one: JsonValue, other: JsonValue) -> bool:
    """True if two values are one id, in whichever type or case it is written."""
    return id_text(one) == id_text(other)
