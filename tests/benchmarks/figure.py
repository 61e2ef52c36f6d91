"""One figure of a benchmark."""

from pydantic import BaseModel


class Figure(BaseModel):
    """What was measured, and how much it is."""

    name: str
    value: float
    unit: str
    note: str = ""
