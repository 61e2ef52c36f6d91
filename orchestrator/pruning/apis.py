"""The APIs that are read, by the paths of their requests."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.core.errors import UsageError
from orchestrator.pruning.anthropic_messages import Messages
from orchestrator.pruning.model_request import ModelApi
from orchestrator.pruning.openai_chat import ChatCompletions
from orchestrator.pruning.openai_responses import Responses

APIS: Final[tuple[ModelApi, ...]] = (ChatCompletions(), Responses(), Messages())


def api_of(path: str) -> ModelApi | None:
    """The API that a path is of; None for every other path."""
    return next((api for api in APIS if path.rstrip("/").endswith(api.path)), None)


def api_named(name: str) -> ModelApi:
    """The API of a name: chat, responses, messages.

    Raises:
        UsageError: there is none of that name.
    """
    found = next((api for api in APIS if api.name == name), None)
    if found is None:
        known = ", ".join(api.name for api in APIS)
        raise UsageError(f"no API is called {name!r}; name one of {known}")
    return found


def api_of_tools(tools: Sequence[Mapping[str, Any]]) -> ModelApi:
    """The API in whose form tools are written: by where their names and schemas stand."""
    if any("input_schema" in tool for tool in tools):
        return api_named("messages")
    if any(isinstance(tool.get("function"), Mapping) for tool in tools):
        return api_named("chat")
    return api_named("responses")
