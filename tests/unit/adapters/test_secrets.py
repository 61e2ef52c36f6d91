"""Secrets from the environment, and the names they go by."""

from pathlib import Path

import pytest

from orchestrator.adapters.secrets import EnvironmentSecrets, SecretRef, secret_for_scheme
from orchestrator.core.errors import SecretMissing


def test_a_secret_is_read_from_its_variable() -> None:
    """The name in upper case, other characters as underscores."""
    secrets = EnvironmentSecrets({"ORCHESTRATOR_SECRET_CRM_API_KEY": "s3cret"})

    assert secrets.get("crm.api-key") == "s3cret"


def test_a_secret_is_read_from_the_file_that_a_variable_names(tmp_path: Path) -> None:
    """Without the line break that editors leave at the end."""
    (tmp_path / "token").write_text("s3cret\n")
    secrets = EnvironmentSecrets({"ORCHESTRATOR_SECRET_CRM_FILE": str(tmp_path / "token")})

    assert secrets.get("crm") == "s3cret"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ORCHESTRATOR_SECRET_CRM": ""},
        {"ORCHESTRATOR_SECRET_CRM": " \n"},
        {"ORCHESTRATOR_SECRET_CRM_FILE": "/no/such/file"},
    ],
)
def test_a_missing_secret_says_where_to_put_it(environ: dict[str, str]) -> None:
    """Unset, empty and unreadable are the same."""
    with pytest.raises(
        SecretMissing, match="set ORCHESTRATOR_SECRET_CRM, or ORCHESTRATOR_SECRET_CRM_FILE"
    ):
        EnvironmentSecrets(environ).get("crm")


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read when a secret is asked for, not when the store is made."""
    secrets = EnvironmentSecrets()
    monkeypatch.setenv("ORCHESTRATOR_SECRET_CRM", "late")

    assert secrets.get("crm") == "late"


@pytest.mark.parametrize(
    ("document", "scheme", "name"),
    [
        ("payments", "payments_token", "payments_token"),
        ("payments", "api_key", "payments_api_key"),
        ("crm", "api_key", "crm_api_key"),
        ("crm", "crm", "crm"),
    ],
)
def test_no_two_documents_share_a_secret(document: str, scheme: str, name: str) -> None:
    """`api_key` of one provider is never sent to another."""
    assert secret_for_scheme(document, scheme) == SecretRef(name)
