"""Questions at a terminal, and the name or key under which a person decides."""

import io
import json
import sys
from getpass import getuser
from pathlib import Path

import pytest

from orchestrator.cli import output
from orchestrator.cli.confirm_commands import sign_as
from orchestrator.cli.data_commands import make_key
from orchestrator.cli.output import account_name, confirmed
from orchestrator.confirmation.models import Approve
from orchestrator.confirmation.signatures import named_signer
from orchestrator.core.errors import DocumentUnreadable, UsageError
from tests.unit.cli.conftest import Terminal

APPROVE = Approve(confirmation_id="m.1-leg.2", digest="d" * 64)


@pytest.mark.parametrize(
    ("typed", "said"), [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False)]
)
def test_only_a_yes_is_a_yes(typed: str, said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty line is a no; the question goes to standard error."""
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", asked)

    assert confirmed("Cancel it?", instead="--yes") is said
    assert "Cancel it?" in asked.getvalue()


@pytest.mark.parametrize("piped", ["stdin", "stderr"])
def test_nobody_is_asked_without_a_terminal(piped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question or its answer could not be seen; the error names the option to give."""
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, piped, io.StringIO("y\n"))

    with pytest.raises(UsageError, match="--yes"):
        confirmed("Cancel it?", instead="--yes")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "ann.jwk"
    make_key(path, approver="ann@example.com", issuer="example.com")
    return path


def test_a_decision_without_a_key_carries_a_name() -> None:
    named = sign_as(None, approver="ann", issuer=None)(APPROVE, "")
    default = sign_as(None, approver=None, issuer=None)(APPROVE, "")

    assert (named.approver, default.approver) == ("ann", getuser())
    assert named.signature == ""
    with pytest.raises(UsageError):  # an issuer would read as if something were proved
        sign_as(None, approver="ann", issuer="example.com")


def test_approver_and_issuer_are_read_from_the_key(key: Path) -> None:
    """A key without them takes them from options; the issuer is required."""
    private = json.loads(key.read_text())
    nameless = key.with_name("nameless.jwk")
    nameless.write_text(json.dumps({n: v for n, v in private.items() if n not in ("iss", "sub")}))
    signed = sign_as(key, approver=None, issuer=None)(APPROVE, APPROVE.digest)
    by_options = sign_as(nameless, approver=None, issuer="example.org")(APPROVE, APPROVE.digest)

    assert named_signer(signed.signature)[:2] == ("example.com", "ann@example.com")
    assert named_signer(by_options.signature)[:2] == ("example.org", getuser())
    with pytest.raises(UsageError):
        sign_as(nameless, approver="ann", issuer=None)
    with pytest.raises(DocumentUnreadable, match=r"lost\.jwk"):
        sign_as(key.with_name("lost.jwk"), approver=None, issuer=None)


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_no_account_names_give_none(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """As in containers that run under any number; a policy that goes by names then refuses."""

    def unknown() -> str:
        raise error("uid not found")

    monkeypatch.setattr(output, "getuser", unknown)

    assert account_name() == ""


def test_a_new_key_prints_its_public_half_alone(tmp_path: Path) -> None:
    """The output goes into a file that everybody may read."""
    public = make_key(tmp_path / "bob.jwk", approver="bob", issuer="example.com")

    assert "d" not in public
    assert (public["sub"], public["iss"]) == ("bob", "example.com")


@pytest.mark.parametrize(
    ("approver", "issuer"), [(" ", "example.com"), ("a\u202eb", "x"), ("ann", "")]
)
def test_no_key_is_made_without_names(tmp_path: Path, approver: str, issuer: str) -> None:
    with pytest.raises(UsageError):
        make_key(tmp_path / "key.jwk", approver=approver, issuer=issuer)
    assert list(tmp_path.iterdir()) == []
