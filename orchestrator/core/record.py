"""The base of all messages and values: frozen, typed, read from and written to JSON."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

if TYPE_CHECKING:  # schemas are asked for rarely
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class Record(BaseModel):
    """An immutable value.

    Unknown fields are ignored when reading, so that a worker of the last release can read records
    of a newer one; new fields need defaults for the same reason.
    """

    # Validators are built when a record is first created or read: a command uses a few of the two
    # hundred, and need not build the others at each start.
    model_config = ConfigDict(frozen=True, ser_json_timedelta="float", defer_build=True)


def build_records() -> None:
    """Build the validators of all imported records that have none yet.

    A worker does this before it polls: together they take 0.4 s of CPU, and a workflow task on a
    busy machine has only the two seconds of the SDK's deadlock detector.
    """
    kinds = [Record]
    while kinds:
        kind = kinds.pop()
        kind.model_rebuild()
        kinds += kind.__subclasses__()


def shared_fields(source: Record, kind: type[Record]) -> dict[str, Any]:
    """Return the values of the fields that a record has in common with a kind of records."""
    return {
        name: getattr(source, name)
        for name in type(source).model_fields
        if name in kind.model_fields
    }


class Enclosing(Record):
    """A record whose parts are written without the values that they repeat of it."""

    repeated: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By part, the part's fields and the paths of the equal values in this record.

    Their defaults must be plain JSON.
    """

    @model_serializer(mode="wrap")
    def _without_repeats(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for name, paths in self.repeated.items():
            if (part := getattr(self, name)) is None or name not in written:
                continue
            for field, path in paths.items():
                value = getattr(part, field)
                if value == _at(self, path):
                    written[name].pop(field, None)
                else:
                    written[name].setdefault(field, value)
        return written

    @model_validator(mode="before")
    @classmethod
    def _with_repeats(cls, data: Any) -> Any:
        """Return the data with the values that the parts repeat; parts that say more keep it."""
        if not isinstance(data, dict):
            return data
        whole = {**data}
        for name, paths in cls.repeated.items():
            if isinstance(part := data.get(name), dict):
                found = {field: _at(data, path) for field, path in paths.items()}
                repeats = {field: one for field, one in found.items() if one is not None}
                whole[name] = {**repeats, **part}
        return whole


def _at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data.get(key) if isinstance(data, dict) else getattr(data, key, None)
    return data


class OneOfSeveral(Record):
    """A value that is read by its `kind`, which is written even where defaults are omitted."""

    kind: str

    @model_serializer(mode="wrap")
    def _with_kind(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **write(self)}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        """Describe the fields, which the schema of the serializer would hide."""
        fields: Any = {name: one for name, one in core_schema.items() if name != "serialization"}
        schema = handler(fields)
        if handler.mode != "validation":
            described = handler.resolve_ref_schema(schema)
            described["required"] = sorted({*described.get("required", ()), "kind"})
        return schema


JsonObject = dict[str, JsonValue]
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def id_text(value: JsonValue) -> str:
    """Return one text for all forms of an id: numbers by value, UUIDs in lower case."""
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    return text.lower() if _UUID.fullmatch(text) else text


def same_id(one: JsonValue, other: JsonValue) -> bool:
    """Return True if two values are the same id, whatever their type or case."""
    return id_text(one) == id_text(other)


class BodyRef(Record):
    """A reference to a body that is stored outside histories, replaced by a shortened form."""

    key: str = Field(description="SHA-256 of the body's JSON, in hex")
    size: int = Field(description="size of the JSON in bytes")
