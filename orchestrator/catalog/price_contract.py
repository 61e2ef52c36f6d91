"""What a document declares of the price of a call: where it stands, and in what it is counted."""

from typing import Final

from pydantic import Field

from orchestrator.core.record import Record

PRICE: Final = "x-orchet-price"
"""On an operation: where the price of a call stands. On a property: it is the price of its object.
In a copy whose money is plain (see plain_money): the price that a property declared so holds."""
MINOR_UNITS: Final = "x-orchet-minor-units"
"""On a property, or the object around it: whether a number counts the currency's smallest unit."""


class PricePlace(Record):
    """Where one price stands: an amount, or an object of amount and currency."""

    amount: str = Field(description="a runtime expression")
    currency: str | None = Field(
        default=None,
        description="a runtime expression, or a code; None when it stands beside the amount",
    )
    minor_units: bool | int | None = Field(
        default=None, description="true, false, or a number of decimals; None: as the schema tells"
    )


class PriceContract(Record):
    """Both ends of what a call costs, each as far as it is declared."""

    is_free: bool = Field(default=False, description="whether a call costs nothing")
    expected: PricePlace | None = Field(
        default=None, description="what it will cost, in the request; None: as quoted"
    )
    charged: PricePlace | None = Field(
        default=None, description="what it did cost; None: as the answer's schema and names tell"
    )
