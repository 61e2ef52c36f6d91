"""Signing from a command line: what options and key files say, and what is asked for."""

import json
from getpass import getuser
from pathlib import Path

import pytest

from orchestrator.cli import signing
from orchestrator.cli.signing import account_name, make_key, sign_as
from orchestrator.confirmation.models import Approve
from orchestrator.confirmation.signatures import named_signer
from orchestrator.core.errors import DocumentUnreadable, UsageError

APPROVE = Approve(confirmation_id="m.1-leg.2", digest="d" * 64)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Ann's key."""
    path = tmp_path / "ann.jwk"
    make_key(path, approver="ann@example.com", issuer="example.com")
    return path


@pytest.fixture
def nameless(key: Path) -> Path:
    """A key that does not say whose it is."""
    private = json.loads(key.read_text())
    path = key.with_name("nameless.jwk")
    path.write_text(json.dumps({n: v for n, v in private.items() if n not in ("iss", "sub")}))
    return path


def test_without_a_key_a_name_is_put_on_it() -> None:
    """The account's, where none is given."""
    named = sign_as(None, approver="ann", issuer=None)(APPROVE, "")
    default = sign_as(None, approver=None, issuer=None)(APPROVE, "")

    assert (named.approver, default.approver) == ("ann", getuser())
    assert named.signature == ""


def test_a_key_that_names_its_owner_needs_no_options(key: Path) -> None:
    """Approver and issuer are read from it."""
    signed = sign_as(key, approver=None, issuer=None)(APPROVE, APPROVE.digest)

    assert named_signer(signed.signature) == ("example.com", "ann@example.com")


def test_options_say_what_a_key_does_not(nameless: Path) -> None:
    """The issuer has to be said somewhere; the approver is by default the account."""
    signed = sign_as(nameless, approver=None, issuer="example.org")(APPROVE, APPROVE.digest)

    assert named_signer(signed.signature) == ("example.org", getuser())
    with pytest.raises(UsageError, match="give --issuer"):
        sign_as(nameless, approver="ann", issuer=None)


def test_an_issuer_without_a_key_vouches_for_nothing() -> None:
    """It would read as if something were proved."""
    with pytest.raises(UsageError, match="give --key"):
        sign_as(None, approver="ann", issuer="example.com")


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(DocumentUnreadable, match=r"lost\.jwk"):
        sign_as(tmp_path / "lost.jwk", approver=None, issuer=None)


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_a_system_that_knows_no_account_names_nobody(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """As in containers that run under any number; a policy that goes by names then says so."""

    def unknown() -> str:
        raise error("uid not found")

    monkeypatch.setattr(signing, "getuser", unknown)

    assert account_name() == ""


def test_a_new_key_gives_its_public_half_alone(tmp_path: Path) -> None:
    """What it prints goes into a file that everybody may read."""
    public = make_key(tmp_path / "bob.jwk", approver="bob", issuer="example.com")

    assert "d" not in public
    assert (public["sub"], public["iss"]) == ("bob", "example.com")


@pytest.mark.parametrize(
    ("approver", "issuer", "option"),
    [(" ", "example.com", "--approver"), ("a\u202eb", "x", "--approver"), ("ann", "", "--issuer")],
)
def test_no_key_is_made_that_could_prove_nothing(
    tmp_path: Path, approver: str, issuer: str, option: str
) -> None:
    """A signature has to name its approver and its issuer."""
    with pytest.raises(UsageError, match=f"{option} is a name"):
        make_key(tmp_path / "key.jwk", approver=approver, issuer=issuer)
    assert list(tmp_path.iterdir()) == []
