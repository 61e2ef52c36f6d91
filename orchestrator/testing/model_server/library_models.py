"""pydantic-ai's models whose provider is a model server. Needs the extra `llm`."""

from contextlib import AsyncExitStack
from typing import Any, Final

from pydantic_ai.models import Model, create_async_httpx2_client, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

_AT_THE_ROOT: Final = frozenset({"anthropic"})
"""Their libraries add the version to the path themselves."""


def model_at(name: str, *, url: str, openai_url: str, key: str, clients: AsyncExitStack) -> Model:
    """The model of a name such as `openai:gpt-5`, asked at a server's address.

    Args:
        name: provider and model.
        url: the server's root.
        openai_url: where its APIs begin that speak as OpenAI does.
        key: what it is asked with.
        clients: closes what the model asks through.
    """

    def provider(provider_name: str) -> Provider[Any]:
        client = create_async_httpx2_client()
        clients.push_async_callback(client.aclose)
        made: Any = infer_provider_class(provider_name)
        base_url = url if provider_name in _AT_THE_ROOT else openai_url
        return made(base_url=base_url, api_key=key, http_client=client)  # type: ignore[no-any-return]

    return infer_model(name, provider)
