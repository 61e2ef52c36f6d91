"""Creates pruners with the embedder and profile of the settings, and prunes in one call."""

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.language.detect import foreign_in
from orchestrator.pruning.conversation_memory import ConversationMemory
from orchestrator.pruning.model_apis import api_named, api_of_tools
from orchestrator.pruning.pruner import Pruner
from orchestrator.pruning.tool_list import ToolLists
from orchestrator.routing.cards.capability_card import CardCache
from orchestrator.routing.profile import PROXY_LIMIT_S, STEP_LIMIT_S, RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity


@dataclass(frozen=True, slots=True)
class PrunedTools:
    """The tools that fit a conversation, and the headers that describe the choice."""

    tools: list[Any]
    """The given entries, in their order."""
    headers: dict[str, str]


def make_pruner(
    similarity: Callable[[Catalog], CardSimilarity] | None = None,
    profile: RoutingProfile | None = None,
    limit_s: float = PROXY_LIMIT_S,
) -> Pruner:
    """Return a pruner that caches the lists of tools that it has read.

    Args:
        similarity: gives vectors to a list of tools; None: only words decide.
        profile: feature weights and thresholds; the fitted defaults when None.
        limit_s: time limit of a routing, after which all tools are forwarded.
    """
    cards = CardCache()

    def router(catalog: Catalog) -> Router:
        return Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=limit_s,
            similarity=similarity(catalog) if similarity else None,
            cards=cards,
        )

    return Pruner(ToolLists(router), ConversationMemory(secrets.token_bytes(32)))


def warm_up(pruner: Pruner) -> None:
    """Load word lists and vectors, so that no caller waits for them."""
    tools = [
        {"name": "find_flights", "description": "Find flights.", "input_schema": {}},
        {"name": "send_mail", "description": "Send a mail to somebody.", "input_schema": {}},
    ]
    turn = {"role": "user", "content": "send a mail to Ana about the flights of next week"}
    body = json.dumps({"tools": tools, "messages": [turn]}).encode()
    pruner.prune(api_named("messages"), body)
    foreign_in("Das Wetter ist heute leider schlecht.")


def prune(
    tools: Sequence[Mapping[str, Any]],
    messages: str | Sequence[Mapping[str, Any]],
    *,
    api: str | None = None,
    tool_choice: Any = None,
    pruner: Pruner | None = None,
) -> PrunedTools:
    """Return the tools of a request that fit it, for programs that make their own requests.

    ```python
    import orchestrator

    pruned = orchestrator.prune(tools, messages)
    client.chat.completions.create(model=..., messages=messages, tools=pruned.tools)
    ```

    Args:
        tools: in the format of OpenAI's chat completions or responses, or of Anthropic's messages.
        messages: the conversation in the same format; a text is one turn of the user.
        api: `chat`, `responses` or `messages`; None: read from the format of the tools.
        tool_choice: the value in the request.
        pruner: from `make_pruner`; None: one for all such calls, with the built-in embedder.

    Returns:
        All tools after any error, with `x-orqen-routing: fail_open`.

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
    """Return the pruner of this process.

    Its callers wait in their own process, before a call of seconds, so it has the time limit of a
    mission's step.
    """
    made = make_pruner(similarity_in_process(), limit_s=STEP_LIMIT_S)
    warm_up(made)
    return made
