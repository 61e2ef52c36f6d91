"""What a scripted model answers, good or bad, in the terms of no API."""

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from orchestrator.testing.model_server.received import ModelCall

StopReason = Literal["stop", "calls", "length", "refusal"]


@dataclass(frozen=True)
class ModelAnswer:
    """What a model says, thinks and calls; the parts leave in the order of these fields."""

    thought: str = ""
    """Becomes a reasoning item, or a signed thinking block; chat completions have none."""
    text: str = ""
    refusal: str = ""
    calls: tuple[ModelCall, ...] = ()
    is_cut_off: bool = False
    """It ran into its limit of tokens."""
    input_tokens: int | None = None
    """None: counted from the request."""
    output_tokens: int | None = None
    """None: counted from the answer."""
    cached_tokens: int | None = None
    """None: what an earlier request began with alike."""

    @property
    def stop_reason(self) -> StopReason:
        """Why it ends."""
        if self.is_cut_off:
            return "length"
        if self.refusal:
            return "refusal"
        return "calls" if self.calls else "stop"

    def with_usage(
        self,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> "ModelAnswer":
        """The same answer, which took so many tokens."""
        return replace(
            self,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached_tokens,
        )


def call(name: str, /, **arguments: JsonValue) -> ModelAnswer:
    """An answer that calls one tool.

    Example: `call("part_done", summary="Booked.")`
    """
    return calling(ModelCall(name, arguments))


def calling(*calls: ModelCall, text: str = "", thought: str = "") -> ModelAnswer:
    """An answer of several calls, with what is said and thought beside them."""
    return ModelAnswer(calls=calls, text=text, thought=thought)


def say(text: str) -> ModelAnswer:
    """An answer that calls nothing."""
    return ModelAnswer(text=text)


def refuse(reason: str = "I cannot help with that.") -> ModelAnswer:
    """A model that refuses."""
    return ModelAnswer(refusal=reason)


def nothing() -> ModelAnswer:
    """An answer without content."""
    return ModelAnswer()


def broken_call(name: str, arguments: str = '{"query": "fli') -> ModelAnswer:
    """A call whose arguments are no JSON."""
    return calling(ModelCall(name, arguments))


def cut_off_call(name: str, arguments: str = '{"query": "fli') -> ModelAnswer:
    """A call that the limit of tokens cut in two."""
    return ModelAnswer(calls=(ModelCall(name, arguments),), is_cut_off=True)
