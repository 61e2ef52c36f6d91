"""Which credentials an operation's security requirements ask for."""

from typing import Any

import pytest

from orchestrator.adapters.http.credentials import (
    Alternative,
    Credential,
    read_alternatives,
    resolve_credentials,
)
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.operations import operations
from orchestrator.core.errors import DocumentInvalid, SecretMissing
from orchestrator.core.secret_names import SecretRef
from orchestrator.json_schema.document import DocumentNode
from tests.fakes import MemorySecrets

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
    """Its own list replaces the document's, also when it is empty."""
    assert _alternatives(None, [{"key": []}]) == ((_KEY,),)
    assert _alternatives([{"token": []}], [{"key": []}]) == ((_TOKEN,),)
    assert _alternatives([], [{"key": []}]) == ()


def test_schemes_of_one_requirement_are_sent_together() -> None:
    """And several requirements are alternatives, in their order."""
    assert _alternatives([{"key": [], "token": []}, {"key": []}]) == ((_KEY, _TOKEN), (_KEY,))


def test_the_first_alternative_that_is_complete_is_used() -> None:
    """A provider that takes either is called with what is configured."""
    alternatives = ((_KEY, _TOKEN), (_TOKEN,))

    assert resolve_credentials(alternatives, MemorySecrets({"crm__token": "t"})) == ((_TOKEN, "t"),)


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


def test_what_may_be_called_without_credentials_is() -> None:
    """An empty alternative asks for nothing."""
    alternatives = _alternatives([{"key": []}, {}])

    assert resolve_credentials(alternatives, MemorySecrets()) == ()


def test_the_first_alternative_names_what_is_missing() -> None:
    """It is the one that the provider prefers."""
    with pytest.raises(SecretMissing, match="crm__key"):
        resolve_credentials(((_KEY,), (_TOKEN,)), MemorySecrets())


def test_what_we_cannot_send_is_passed_over_for_what_we_can() -> None:
    """An alternative that we do not speak costs nothing while another one is offered."""
    assert _alternatives([{"digest": []}, {"key": [], "badkey": []}, {"key": []}]) == ((_KEY,),)
    assert _alternatives([{"digest": []}, {}]) == ((),)


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
    """Said when the tool is first called, not by a refusal of the provider."""
    with pytest.raises(DocumentInvalid, match="crm at"):
        _alternatives([{scheme: []}])
