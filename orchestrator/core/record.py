"""The base of every value that is passed around: frozen, typed, JSON in and JSON out."""

from pydantic import BaseModel, ConfigDict, JsonValue


class Record(BaseModel):
    """An immutable value.

    Unknown fields are ignored on reading, so that a worker of the last release can read what a
    newer one wrote; new fields need defaults for the same reason.
    """

    # Validators are built when a record is first made or read: a command of ours uses a few of the
    # two hundred, and builds none of the others each time it starts.
    model_config = ConfigDict(frozen=True, ser_json_timedelta="float", defer_build=True)


JsonObject = dict[str, JsonValue]
