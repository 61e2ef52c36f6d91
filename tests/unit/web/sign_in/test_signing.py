"""Signatures of the service: for whom it vouches, and for whom never."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.confirmation.deciders import check_decider
from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.confirmation.signatures import PublicKeys, SigningKey, proved_signer
from orchestrator.core.errors import SignInTooOld, UsageError
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.signing import LocalSigner, ServiceSigner
from tests.unit.cards import open_card

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
URL, ANN = "https://missions.example.com", "ann@example.com"
PRIVATE, PUBLIC = SigningKey.generate(issuer="", subject="")
BARE = {name: value for name, value in PRIVATE.items() if name not in ("iss", "sub")}
KEYS = PublicKeys(keys=({n: v for n, v in PUBLIC.items() if n not in ("iss", "sub")},))


def card(**changes: Any) -> ConfirmationCard:
    fields: dict[str, Any] = {"opened_at": NOW - timedelta(minutes=1), "signed": True, **changes}
    return open_card("m.1-pay.2", "pay", "structured-payment", title="Pay", **fields)


def person(**changes: Any) -> Person:
    made = Person(
        subject=ANN,
        roles=(Role.APPROVER,),
        groups=("finance", "ops"),
        proved_by="cookie",
        signed_in_at=NOW - timedelta(minutes=10),
    )
    return made.model_copy(update=changes)


def service() -> ServiceSigner:
    return ServiceSigner(SigningKey(BARE), url=URL, now=lambda: NOW)


def approve(of: ConfirmationCard) -> Approve:
    return Approve(confirmation_id=of.confirmation_id, digest=of.digest, approver=ANN)


def test_a_signature_names_the_groups_that_the_card_asks_for() -> None:
    """And no others, for it stays in the record; the worker's check accepts it."""
    shown = card(approvers=("group:fin*",), max_sign_in_age=timedelta(minutes=15))
    signed = service().sign(approve(shown), digest=shown.digest, person=person(), card=shown)
    signer = proved_signer(signed, KEYS, digest=shown.digest, opened_at=shown.opened_at, at=NOW)

    assert (signer.issuer, signer.subject, signer.groups) == (URL, ANN, ("finance",))
    assert signer.signed_in_at == NOW - timedelta(minutes=10)
    check_decider(signed, shown, KEYS, at=NOW)


@pytest.mark.parametrize("signed_in_at", [None, NOW - timedelta(minutes=16)])
def test_nothing_is_signed_after_an_old_sign_in(signed_in_at: datetime | None) -> None:
    shown = card(max_sign_in_age=timedelta(minutes=15))
    who = person(signed_in_at=signed_in_at)
    with pytest.raises(SignInTooOld):
        service().sign(approve(shown), digest=shown.digest, person=who, card=shown)


@pytest.mark.parametrize("proved_by", ["api token", "loopback"])
def test_the_service_vouches_only_for_who_has_signed_in(proved_by: str) -> None:
    """An API token was made by an admin, and a local user by nobody."""
    shown, who = card(), person(proved_by=proved_by)
    with pytest.raises(ProblemError) as refused:
        service().sign(approve(shown), digest=shown.digest, person=who, card=shown)
    assert refused.value.problem.code == "SignInNeeded"


@pytest.mark.parametrize("names", [{"sub": ANN}, {"iss": "https://another.example"}])
def test_a_key_of_somebody_else_is_not_the_services(names: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        ServiceSigner(SigningKey({**BARE, **names}), url=URL)


def test_a_local_key_signs_for_its_owner_alone() -> None:
    """Not for another name, and not with a key that could be anybody's."""
    key = SigningKey({**BARE, "iss": "example.com", "sub": ANN})
    shown = card()
    signer, local = LocalSigner(key, subject=ANN, now=lambda: NOW), person(proved_by="loopback")
    signed = signer.sign(approve(shown), digest=shown.digest, person=local, card=shown)

    assert signed.approver == ANN
    for other in (person(proved_by="loopback", subject="cfo@example.com"), person()):
        with pytest.raises(ProblemError):
            signer.sign(approve(shown), digest=shown.digest, person=other, card=shown)
    for subject, wrong in (("cfo@example.com", key), (ANN, SigningKey(BARE))):
        with pytest.raises(UsageError):
            LocalSigner(wrong, subject=subject)


@pytest.mark.parametrize(("signed", "may"), [(True, True), (False, False)])
def test_a_group_sees_the_cards_that_it_may_decide(signed: bool, may: bool) -> None:
    """An unsigned decision proves no group, so such a card is none of theirs."""
    assert person().may_decide(card(approvers=("group:finance",), signed=signed)) is may
    assert not person(groups=()).may_decide(card(approvers=("group:finance",)))
    assert not person(roles=(Role.VIEWER,)).may_decide(card(approvers=("group:finance",)))
