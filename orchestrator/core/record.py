"""The base of every value that is passed around: frozen, typed, JSON in and JSON out."""

from pydantic import BaseModel, ConfigDict, JsonValue


class Record(BaseModel):
    """An immutable value.

    Unknown fields are ignored on reading, so that a worker of the last release can read what a
    newer one wrote; new fields need defaults for the same reason.
    """

    model_config = ConfigDict(frozen=True, ser_json_timedelta="float")


JsonObject = dict[str, JsonValue]
