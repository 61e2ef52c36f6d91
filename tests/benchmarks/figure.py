"""One figure of a benchmark."""

from pydantic import BaseModel, ConfigDict


class Figure(BaseModel):
    """What was measured, and how much it is."""

    model_config = ConfigDict(frozen=True)

    name: str
    value: float
    unit: str
    note: str = ""
    row: tuple[str, ...] = ()
    """What it is a figure of; those of one row are drawn in one line, their names as columns."""


class NothingToMeasure(Exception):
    """What a benchmark measures is not here; the sentence says how to get it."""
