"""The draft of a call: what its inputs have so far, what is missing, and why it cannot be made."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.parameters import DAYS, Parameter


@dataclass(frozen=True)
class Lack:
    """Why a call cannot be made: values that nobody has, or a reason that no value would change."""

    parameters: tuple[Parameter, ...] = ()
    reason: str = ""
    note: str = ""
    """What the person who is asked for the values is told first."""
    is_done: bool = False
    """Whether nothing is left to be done: the call was made for each thing that is meant."""
    listed_by: str = ""
    """The tool whose list answers the request as it stands: no single thing of it is meant."""


@dataclass(frozen=True)
class ArgumentDraft:
    """The inputs of one call, or of one object in it, and the values they have so far."""

    parameters: tuple[Parameter, ...]
    values: JsonObject = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Why these values, for whoever reads the call."""
    lists: bool = True
    """Whether the call's answer is a list, of which one can be told from another."""

    def add(self, parameter: Parameter, value: JsonValue) -> None:
        """Give an input its value, if there is one."""
        if value is not None:
            self.values[parameter.name] = value

    def open_inputs(self) -> Iterator[Parameter]:
        """The inputs without a value, ends after starts: an end may be counted from its start."""
        for parameter in sorted(self.parameters, key=lambda p: p.side == "end"):
            if parameter.name not in self.values:
                yield parameter

    @property
    def start_inputs(self) -> list[Parameter]:
        """The inputs that take the date, or the first date, of the call."""
        return [p for p in self.parameters if p.kind in DAYS and p.side != "end"]

    @property
    def start(self) -> JsonValue:
        """The date at which the call's stretch of time starts; None while it is unknown."""
        starts = (self.values.get(p.name) for p in self.start_inputs)
        return next((value for value in starts if value is not None), None)

    @property
    def missing(self) -> tuple[Parameter, ...]:
        """The required inputs without a value; the call can be made when there are none."""
        return tuple(p for p in self.open_inputs() if p.required)

    @property
    def arguments(self) -> JsonObject:
        """The values, in the order of the inputs."""
        return {p.name: self.values[p.name] for p in self.parameters if p.name in self.values}
