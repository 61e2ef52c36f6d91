"""Makes pruners with the embedder and profile of the settings, and prunes in one call."""

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.pruning.apis import api_named, api_of_tools
from orchestrator.pruning.conversation_memory import ConversationMemory
from orchestrator.pruning.pruner import Pruner
from orchestrator.pruning.tool_list import ToolLists
from orchestrator.routing.cards.card_cache import CardCache
from orchestrator.routing.deadline import PROXY_LIMIT_S, STEP_LIMIT_S
from orchestrator.routing.function_routers import FunctionRouters
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity


@dataclass(frozen=True, slots=True)
class PrunedTools:
    """The tools that fit a conversation, and the headers that tell of the choice."""

    tools: list[Any]
    """As they were given, in their order."""
    headers: dict[str, str]


def make_pruner(
    similarity: Callable[[Catalog], CardSimilarity] | None = None,
    profile: RoutingProfile | None = None,
    limit_s: float = PROXY_LIMIT_S,
) -> Pruner:
    """A pruner that keeps what it has read.

    Args:
        similarity: what gives vectors to a list of tools; None: words alone decide.
        profile: feature weights and thresholds; the fitted defaults when None.
        limit_s: how long a routing may take; longer, and all tools go on.
    """
    cards = CardCache()

    def router(catalog: Catalog) -> Router:
        seen = similarity(catalog) if similarity else None
        return Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=limit_s,
            similarity=seen,
            cards=cards,
        )

    return Pruner(ToolLists(FunctionRouters(router)), ConversationMemory(secrets.token_bytes(32)))


def warm_up(pruner: Pruner) -> None:
    """Read what every routing needs, word lists and vectors, so that no caller waits for it."""
    tools = [
        {"name": "find_flights", "description": "Find flights.", "input_schema": {}},
        {"name": "send_mail", "description": "Send a mail to somebody.", "input_schema": {}},
    ]
    turn = {"role": "user", "content": "send a mail to Ana about the flights of next week"}
    body = json.dumps({"tools": tools, "messages": [turn]}).encode()
    pruner.prune(api_named("messages"), body)


def prune(
    tools: Sequence[Mapping[str, Any]],
    messages: str | Sequence[Mapping[str, Any]],
    *,
    api: str | None = None,
    tool_choice: Any = None,
    pruner: Pruner | None = None,
) -> PrunedTools:
    """The tools of a request that fit it, for programs that make their own requests.

    ```python
    import orchestrator

    pruned = orchestrator.prune(tools, messages)
    client.chat.completions.create(model=..., messages=messages, tools=pruned.tools)
    ```

    Args:
        tools: in the form of OpenAI's chat completions or responses, or of Anthropic's messages.
        messages: the conversation in the same form; a text is one turn of the user.
        api: `chat`, `responses` or `messages`; None: told by the form of the tools.
        tool_choice: as the request has it.
        pruner: one of `make_pruner`; None: one for all such calls, with the built-in embedder.

    Returns:
        All tools whenever something goes wrong, with `x-orqen-routing: fail_open`.

    Raises:
        UsageError: there is no such API.
    """
    form = api_named(api) if api else api_of_tools(tools)
    turns = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    body: dict[str, Any] = {"tools": list(tools)}
    body["input" if form.name == "responses" else "messages"] = list(turns)
    if tool_choice is not None:
        body["tool_choice"] = tool_choice
    pruned = (pruner or shared_pruner()).prune(form, json.dumps(body, default=str).encode())
    kept = pruned.kept if pruned.offered else range(len(tools))
    return PrunedTools([tools[index] for index in kept], pruned.headers)


@cache
def shared_pruner() -> Pruner:
    """The one of this process for callers that bring none.

    They wait for it in their own process, before a call of seconds: as long as a mission's step.
    """
    made = make_pruner(similarity_in_process(), limit_s=STEP_LIMIT_S)
    warm_up(made)
    return made
