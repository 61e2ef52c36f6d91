"""pydantic-ai's models whose provider is a model server. Needs the extra `llm`."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.models import Model, create_async_httpx2_client, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

if TYPE_CHECKING:
    from orchestrator.testing.model_server.model_server import ModelServer

_AT_THE_ROOT: Final = frozenset({"anthropic"})
"""Their libraries add the version to the path themselves."""


def model_at(server: "ModelServer", name: str, clients: AsyncExitStack) -> Model:
    """The model of a name such as `openai:gpt-5`, asked at this server.

    What it is asked with is closed with `clients`.
    """

    def provider(provider_name: str) -> Provider[Any]:
        client = create_async_httpx2_client()
        clients.push_async_callback(client.aclose)
        made: Any = infer_provider_class(provider_name)
        url = server.url if provider_name in _AT_THE_ROOT else server.openai_url
        return made(base_url=url, api_key=server.key, http_client=client)  # type: ignore[no-any-return]

    return infer_model(name, provider)
