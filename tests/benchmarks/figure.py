"""What a benchmark reports: one measured number with its unit."""

from pydantic import BaseModel, ConfigDict


class Figure(BaseModel):
    """One measured number."""

    model_config = ConfigDict(frozen=True)

    name: str
    value: float
    unit: str
    note: str = ""
