"""Credentials that security requirements ask for, and settings that a stranger's document lacks."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.http.credentials import (
    Alternative,
    Credential,
    read_alternatives,
    resolve_credentials,
)
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.operations import operations
from orchestrator.core.errors import DocumentInvalid, EgressRefused, SecretMissing
from orchestrator.core.secret_names import SecretRef
from orchestrator.json_schema.document import DocumentNode
from tests.fakes import MemoryPii, MemorySecrets

_SCHEMES = {
    "key": {"type": "apiKey", "in": "query", "name": "k"},
    "token": {"type": "oauth2", "flows": {}},
    "digest": {"type": "http", "scheme": "digest"},
    "badkey": {"type": "apiKey", "in": "body", "name": "k"},
}
_KEY = Credential(SecretRef("crm__key"), "query", "k")
_TOKEN = Credential(SecretRef("crm__token"), "header", "Authorization", "bearer")


def _alternatives(
    security: Any, root_security: Any = None, parameters: Any = ()
) -> tuple[Alternative, ...]:
    secured = {} if security is None else {"security": security}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "paths": {"/a": {"get": {**secured, "parameters": list(parameters)}}},
        "components": {"securitySchemes": _SCHEMES},
    }
    if root_security is not None:
        document["security"] = root_security
    (operation,) = operations(DocumentNode.of("crm", document))
    return read_alternatives(operation)


def test_the_operation_wins_over_the_document() -> None:
    """Its own list replaces the document's, also when it is empty.

    Schemes of one requirement are sent together; several are alternatives, in their order.
    """
    assert _alternatives(None, [{"key": []}]) == ((_KEY,),)
    assert _alternatives([{"token": []}], [{"key": []}]) == ((_TOKEN,),)
    assert _alternatives([], [{"key": []}]) == ()
    assert _alternatives([{"key": [], "token": []}, {"key": []}]) == ((_KEY, _TOKEN), (_KEY,))


def test_the_first_alternative_that_is_complete_is_used() -> None:
    """A provider that takes either is called with what is configured.

    An empty alternative asks for nothing; of none complete the first names what is missing.
    """
    alternatives, none = ((_KEY, _TOKEN), (_TOKEN,)), MemorySecrets()

    assert resolve_credentials(alternatives, MemorySecrets({"crm__token": "t"})) == ((_TOKEN, "t"),)
    assert resolve_credentials(_alternatives([{"key": []}, {}]), none) == ()
    with pytest.raises(SecretMissing, match="crm__key"):
        resolve_credentials(((_KEY,), (_TOKEN,)), none)


def test_a_secret_that_is_bound_elsewhere_is_not_there() -> None:
    """A document whose servers changed is not sent it; its next alternative is."""
    bound = {
        "ORCHESTRATOR_SECRET_CRM__KEY": "k",
        "ORCHESTRATOR_SECRET_CRM__KEY_HOSTS": "api.example.com",
        "ORCHESTRATOR_SECRET_CRM__TOKEN": "t",
    }
    secrets, alternatives = EnvironmentSecrets(bound), ((_KEY,), (_TOKEN,))

    def resolved(base_url: str) -> object:
        return resolve_credentials(alternatives, secrets, base_url)

    assert resolved("https://api.example.com/v1") == ((_KEY, "k"),)
    assert resolved("https://evil.example/v1") == ((_TOKEN, "t"),)


def test_a_credential_among_the_parameters_goes_along() -> None:
    """A required one that no scheme covers is sent from the secrets, with each alternative."""
    said = "Value must be `Bearer <token>`."
    header = {"name": "Authorization", "in": "header", "required": True, "description": said}
    query = {"name": "api_key", "in": "query", "required": True}
    covered = {"name": "k", "in": "query", "required": True}
    token = Credential(SecretRef("crm__Authorization"), "header", "Authorization", "bearer")
    key = Credential(SecretRef("crm__api_key"), "query", "api_key")

    assert _alternatives(None, parameters=[header, query]) == ((token, key),)
    assert _alternatives([{"key": []}], parameters=[query, covered]) == ((_KEY, key),)
    assert _alternatives([{"token": []}], parameters=[header]) == ((_TOKEN,),)
    assert token.written("Bearer abc") == token.written("abc") == "Bearer abc"


@pytest.mark.parametrize("scheme", ["digest", "badkey", "unheard_of"])
def test_what_we_cannot_send_is_the_documents_fault(scheme: str) -> None:
    """Said when the tool is first called, not by a refusal of the provider.

    It is passed over for what we can send, while that is offered.
    """
    with pytest.raises(DocumentInvalid, match="crm at"):
        _alternatives([{scheme: []}])
    assert _alternatives([{scheme: []}, {"key": [], "badkey": []}, {"key": []}]) == ((_KEY,),)
    assert _alternatives([{scheme: []}, {}]) == ((),)


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
