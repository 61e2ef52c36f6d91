"""Decisions from a command line: under a name, or signed with a key."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path

from orchestrator.confirmation.models import Decision
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject

Sign = Callable[[Decision, str], Decision]
"""Puts on a decision who takes it; with a key, a signature over the card with this digest too."""


def sign_as(key: Path | None, *, approver: str | None, issuer: str | None) -> Sign:
    """What the options of a command say about who decides."""
    if key is not None:
        return _sign_with(key, approver=approver or "", issuer=issuer or "")
    if issuer:
        raise UsageError("--issuer says who vouches for a signature: give --key FILE too")
    name = approver or account_name()
    return lambda decision, _: decision.model_copy(update={"approver": name})


def _sign_with(file: Path, *, approver: str, issuer: str) -> Sign:
    # Here, for most commands sign nothing and need no cryptography.
    from orchestrator.adapters.signing_keys import load_signing_key
    from orchestrator.confirmation.signatures import sign_decision

    key = load_signing_key(file)
    who = {"subject": approver or key.subject or account_name(), "issuer": issuer or key.issuer}
    if not who["issuer"]:
        raise UsageError(f"{file} does not say who vouches for the approver: give --issuer NAME")
    return lambda decision, digest: sign_decision(
        decision, key, digest=digest, at=datetime.now(UTC), **who
    )


def account_name() -> str:
    """The name of whoever runs this; empty where the system knows none, as in some containers."""
    try:
        return getuser()
    except (KeyError, OSError):
        return ""


def make_key(file: Path, *, approver: str, issuer: str) -> JsonObject:
    """Write a new private key to a file; the public one."""
    for option, name in (("--approver", approver), ("--issuer", issuer)):
        if not (name.strip() and name.isprintable()):
            raise UsageError(f"{option} is a name of printable characters")
    from orchestrator.adapters.signing_keys import write_signing_key
    from orchestrator.confirmation.signatures import SigningKey

    private, public = SigningKey.generate(issuer=issuer, subject=approver)
    write_signing_key(file, json.dumps(private))
    return public
