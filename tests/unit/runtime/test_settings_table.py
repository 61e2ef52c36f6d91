"""The table of settings: complete, true of the environment, and silent about secrets."""

import pytest

from orchestrator.runtime.settings_table import setting_rows, unknown_variables
from orchestrator.settings import Settings, load_settings


def test_what_is_set_is_shown_and_a_secret_only_as_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would be written in the environment; and every setting says what it is for."""
    monkeypatch.setenv("ORCHESTRATOR_DRAIN", "PT2M")
    monkeypatch.setenv("ORCHESTRATOR_PII_KEY", "very-secret")
    rows = setting_rows(load_settings())
    shown = {row.variable: row.now for row in rows if row.is_set}

    assert shown == {"ORCHESTRATOR_DRAIN": "120", "ORCHESTRATOR_PII_KEY": "set"}
    assert "very-secret" not in str(rows)
    assert len(rows) > len(Settings.model_fields)
    assert [row.variable for row in rows if not row.meaning] == []


@pytest.mark.parametrize(
    ("variable", "value", "now"),
    [
        ("PROXY", "http://user:hunter2@proxy:3128", "set"),
        ("PROXY", "user:hunter2@proxy:3128", "set"),
        ("APPROVAL_KEYS", "https://u:hunter2@keys.example:8443/j", "https://keys.example:8443/j"),
        ("APPROVAL_KEYS", "https://keys.example/a?token=hunter2", "https://keys.example/a?…"),
        ("APPROVAL_KEYS", "https://u:hunter2@[::1", "https://…"),
        ("APPROVAL_KEYS", "/etc/jwks.json", "/etc/jwks.json"),
        ("SERVER_VARIABLES", '{"crm": {"tenant": "hunter2"}}', '{"crm": {"tenant": "set"}}'),
        ("STORE", "postgresql://m:hunter2@db/m", "set"),
        ("PAYLOAD_KEYS", "k1:hunter2", "set"),
    ],
)
def test_no_setting_shows_a_secret(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, now: str
) -> None:
    """Neither the table nor the settings as text, which a traceback may hold."""
    monkeypatch.setenv(f"ORCHESTRATOR_{variable}", value)
    settings = load_settings()

    assert [row.now for row in setting_rows(settings) if row.is_set] == [now]
    assert "hunter2" not in repr(settings)


def test_server_variables_of_no_document_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence shows how to name one, and not the value."""
    monkeypatch.setenv("ORCHESTRATOR_SERVER_VARIABLES", '{"port": "hunter2"}')

    with pytest.raises(Exception, match="name the document") as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)


def test_a_misspelt_variable_is_named_with_what_was_meant_and_without_its_value() -> None:
    """It would change nothing, and say nothing. Credentials may have any name."""
    environment = {
        "ORCHESTRATOR_MAX_ACTIVITES": "very-secret",
        "ORCHESTRATOR_XYZ": "1",
        "ORCHESTRATOR_SECRET_CRM__KEY": "x",
        "ORCHESTRATOR_DRAIN": "5",
        "HOME": "/",
    }
    told = list(unknown_variables(environment))

    assert told == [
        "ORCHESTRATOR_MAX_ACTIVITES is no setting and changes nothing; "
        "ORCHESTRATOR_MAX_ACTIVITIES is one (orchestrator settings)",
        "ORCHESTRATOR_XYZ is no setting and changes nothing (orchestrator settings)",
    ]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ORCHESTRATOR_POLLERS", "1"),
        ("ORCHESTRATOR_POLLERS", "many"),
        ("ORCHESTRATOR_MAX_ACTIVITIES", "0"),
        ("ORCHESTRATOR_DRAIN", "-1"),
    ],
)
def test_a_limit_that_is_none_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """In one line."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(Exception, match=f"^{variable}: "):
        load_settings()
