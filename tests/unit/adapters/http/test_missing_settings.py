"""What is missing before a stranger's document can be called is one sentence with its setting."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EgressRefused
from tests.fakes import MemoryPii, MemorySecrets

HELPDESK = Path(__file__).parents[4] / "docs" / "examples" / "helpdesk.yaml"


def _catalog(**changes: Any) -> Catalog:
    """The quickstart's document with one tool, and something of it changed."""
    document = yaml.safe_load(HELPDESK.read_text(encoding="utf-8"))
    document["paths"]["/customers"]["get"]["x-orchet-tool"] = True
    return Catalog.from_documents({"helpdesk": {**document, **changes}})


async def _missing(catalog: Catalog, **settings: Any) -> tuple[str, ...]:
    given: dict[str, Any] = {"secrets": MemorySecrets({"helpdesk__token": "t"}), **settings}
    async with ToolClient(pii=MemoryPii(), **given) as client:
        return await client.obstacles(catalog, catalog.tool("listCustomers"))


LOCAL = _catalog(servers=[{"url": "http://127.0.0.1:4010"}])
ALLOWED = {"allowed_private_hosts": ["127.0.0.1"]}


async def test_what_is_missing_is_named_with_its_setting() -> None:
    """A credential by document and scheme, a host of this machine, a server variable."""
    account = _catalog(servers=[{"url": "https://{account}.example.com", "variables": {}}])

    (credential,) = await _missing(LOCAL, secrets=EnvironmentSecrets({}), **ALLOWED)
    (host,) = await _missing(LOCAL)
    (variable,) = await _missing(account)

    assert "ORCHESTRATOR_SECRET_HELPDESK__TOKEN" in credential
    assert "ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS" in host
    assert "'account'" in variable and "ORCHESTRATOR_SERVER_VARIABLES" in variable
    assert await _missing(LOCAL, **ALLOWED) == ()


@pytest.mark.parametrize("servers", [[], [{"url": "/"}], [{"url": "/api/v2"}]])
async def test_an_address(servers: list[dict[str, str]]) -> None:
    """A document that names none, or one that is relative to where it was found."""
    with pytest.raises(EgressRefused, match="names no host; say where the server is by an overlay"):
        await _missing(_catalog(servers=servers))
