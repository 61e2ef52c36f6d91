"""One figure of a benchmark."""

from pydantic import BaseModel, ConfigDict


class Figure(BaseModel):
    """What was measured, and how much it is."""

    model_config = ConfigDict(frozen=True)

    name: str
    value: float
    unit: str
    note: str = ""
