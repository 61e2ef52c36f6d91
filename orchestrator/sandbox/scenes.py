"""What one answer is made from, and how much may be made for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Any

_PLENTY = 1_000
_MOST = 5_000


class UnsupportedSchema(ValueError):
    """No value could be made; the schema needs an example."""


@dataclass
class Effort:
    """How many values were made for one answer; a long text counts for several."""

    values: int = 0

    @property
    def is_large(self) -> bool:
        """Whether no more should be made than has to be."""
        return self.values > _PLENTY

    def spend(self, values: int) -> None:
        """Count values.

        Raises:
            UnsupportedSchema: they are more than an answer may have.
        """
        self.values += values
        if self.values > _MOST:
            raise UnsupportedSchema(f"more than {_MOST:,} values would have to be made")


@dataclass(frozen=True)
class Scene:
    """What one answer is made from.

    Attributes:
        rng: the only source of chance.
        now: the moment of the call.
        day: the day the request is about; dates are near it.
        hints: values by property name, taken over where they fit the schema.
        omit: names of optional properties to leave out.
        wrappers: properties that hold the thing itself, so that the hints speak of what is inside.
        is_request: what is made are arguments: examples come first, and at every depth only what
            is required.
        effort: what was made so far.
    """

    rng: Random
    now: datetime
    day: datetime
    hints: Mapping[str, Any] = field(default_factory=dict)
    omit: Callable[[str], bool] = lambda name: False
    wrappers: Collection[str] = ()
    is_request: bool = False
    effort: Effort = field(default_factory=Effort)

    def inside(self) -> Scene:
        """The scene of a nested object: of the hints only the currency still means the same."""
        kept = {key: value for key, value in self.hints.items() if key == "currency"}
        inside = Scene(self.rng, self.now, self.day, kept, effort=self.effort)
        return replace(inside, omit=self.omit, is_request=True) if self.is_request else inside
