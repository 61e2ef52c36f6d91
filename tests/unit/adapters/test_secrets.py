"""Secrets from the environment, and the names they go by."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.core.errors import SecretMissing
from orchestrator.core.secret_names import (
    SchemeName,
    secret_for_scheme,
    shared_variable,
    variable_of,
    variables_of,
)

_CRM = {"ORCHESTRATOR_SECRET_CRM": "s3cret"}
_HOSTS = "ORCHESTRATOR_SECRET_CRM_HOSTS"


def test_a_secret_is_read_from_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name in upper case, other characters by their bytes; or from the file that it names.

    The process environment is read when a secret is asked for, not when the store is made.
    """
    (tmp_path / "token").write_text("s3cret\n")
    named = EnvironmentSecrets({"ORCHESTRATOR_SECRET_CRMx2eAPIx2dKEY": "s3cret"})
    filed = EnvironmentSecrets({"ORCHESTRATOR_SECRET_CRM_FILE": str(tmp_path / "token")})
    late = EnvironmentSecrets()
    monkeypatch.setenv("ORCHESTRATOR_SECRET_CRM", "late")

    assert named.get("crm.api-key") == "s3cret"
    assert filed.get("crm") == "s3cret"
    assert late.get("crm") == "late"


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


def test_a_bound_secret_is_given_for_its_hosts_alone() -> None:
    """Case does not matter; without a binding any host of the document will do.

    The sentence says which host, and which variable to change.
    """
    bound = EnvironmentSecrets({**_CRM, _HOSTS: "api.example.com, eu.example.com"})

    for host in ("api.example.com", "API.example.com", "eu.example.com"):
        assert bound.get_for("crm", host) == "s3cret"
        assert EnvironmentSecrets(_CRM).get_for("crm", host) == "s3cret"
    for host in ("evil.example", "example.com", "api.example.com.evil.example"):
        with pytest.raises(SecretMissing, match=f"crm for {host}.*set {_HOSTS} "):
            bound.get_for("crm", host)


@pytest.mark.parametrize(
    ("document", "scheme", "variable"),
    [
        ("payments", "payments_token", "PAYMENTS__PAYMENTS_TOKEN"),
        ("crm", "api_key", "CRM__API_KEY"),
        ("my-bank", "key", "MYx2dBANK__KEY"),
        ("my_bank", "key", "MY_BANK__KEY"),
        ("shop", "pay_key", "SHOP__PAY_KEY"),
        ("shop_pay", "key", "SHOP_PAY__KEY"),
        ("shop", "pay__key", "SHOP__PAYx255Fx255FKEY"),
        ("shop_", "key", "SHOPx255F__KEY"),
        ("shop", "_key", "SHOP__x255FKEY"),
        ("caf\u00e9", "key", "CAFx25C3x25A9__KEY"),
    ],
)
def test_each_scheme_of_each_document_has_a_variable(
    document: str, scheme: str, variable: str
) -> None:
    """Two underscores stand between document and scheme, and nowhere else."""
    name = secret_for_scheme(document, scheme).name

    assert variable_of(name) == f"ORCHESTRATOR_SECRET_{variable}"


def test_one_underscore_is_enough_between_two_words() -> None:
    """Only where the name divides in one way; the file and the hosts are found alike."""
    short = "ORCHESTRATOR_SECRET_SHOP_"
    secrets = EnvironmentSecrets(
        {f"{short}KEY": "k1", f"{short}KEY_HOSTS": "a.example", f"{short}PAY_KEY": "k2"}
    )

    assert secrets.get_for("shop__key", "a.example") == "k1"
    for name, host in (
        ("shop__key", "b.example"),
        ("shop__pay_key", "a.example"),
        ("shop_pay__key", "a.example"),
    ):
        with pytest.raises(SecretMissing):
            secrets.get_for(name, host)


_NAME = st.text(st.sampled_from("ab_-.x%2\u00e9"), min_size=1, max_size=5)


@given(_NAME, _NAME, _NAME, _NAME)
def test_no_two_schemes_share_a_variable(one: str, first: str, other: str, second: str) -> None:
    """`pay_key` of one provider is never sent to another; letters of one case are compared."""
    ours, theirs = (
        {*variables_of(secret_for_scheme(*s).name)} for s in ((one, first), (other, second))
    )

    assert bool(ours & theirs) is ((one, first) == (other, second))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Shop", "key"), ("shop", "Key")),
        (("shop", "key"), ("shop", "KEY_FILE")),
        (("shop", "token_file"), ("shop", "token")),
        (("shop", "token_hosts"), ("shop", "token")),
    ],
)
def test_a_variable_of_two_schemes_is_found(one: tuple[str, str], other: tuple[str, str]) -> None:
    """They differ in case alone, or one is called as the file of the other is."""
    found = shared_variable([SchemeName(*one), SchemeName("crm", "key"), SchemeName(*other)])

    assert found is not None
    assert found[:2] == (one, other)
