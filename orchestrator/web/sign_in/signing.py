"""Signatures of decisions by this service, for people who have signed in."""

from http import HTTPStatus

from orchestrator.confirmation.models import ConfirmationCard, Decision
from orchestrator.confirmation.policy import in_group, is_same_person
from orchestrator.confirmation.signatures import SigningKey, sign_decision, unproved_sign_in
from orchestrator.core.errors import UsageError
from orchestrator.web.people import Person
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.identity import Clock, utc_now


class ServiceSigner:
    """Signs with the key of this service what a person has decided, and says who it was."""

    def __init__(self, key: SigningKey, *, url: str, now: Clock = utc_now) -> None:
        if key.subject:
            raise UsageError(
                f"signing_key signs for {key.subject} alone: give the service a key of its own, "
                "without sub"
            )
        if key.issuer not in ("", url):
            raise UsageError(f"signing_key is of {key.issuer}, and this service is {url}")
        self._key = key
        self._url = url
        self._now = now

    def sign(
        self, decision: Decision, *, digest: str, person: Person, card: ConfirmationCard
    ) -> Decision:
        """See `DecisionSigner.sign`."""
        if person.proved_by not in ("cookie", "access token"):
            raise unsigned(f"{person.proved_by} of {person.subject} proves no sign-in")
        now, signed_in_at = self._now(), person.signed_in_at
        max_age = card.max_sign_in_age
        if max_age is not None and (signed_in_at is None or now - signed_in_at > max_age):
            raise unproved_sign_in(card.confirmation_id, max_age)
        patterns = (*card.approvers, *card.operators_approvers)
        return sign_decision(
            decision,
            self._key,
            digest=digest,
            at=now,
            issuer=self._url,
            subject=person.subject,
            auth_time=None if signed_in_at is None else min(signed_in_at, now),
            # Only those that the card asks for: a signature stays in the record for ever.
            groups=[one for one in person.groups if any(in_group(p, [one]) for p in patterns)],
        )


class LocalSigner:
    """Signs for the one local user, with the user's own key, and for nobody else."""

    def __init__(self, key: SigningKey, *, subject: str, now: Clock = utc_now) -> None:
        if not key.issuer or not key.subject or not is_same_person(key.subject, subject):
            raise UsageError(
                f"without sign-in decisions are signed with a key of {subject} alone: make one by "
                "orchestrator key approval"
            )
        self._key = key
        self._now = now

    def sign(
        self, decision: Decision, *, digest: str, person: Person, card: ConfirmationCard
    ) -> Decision:
        """See `DecisionSigner.sign`."""
        if person.proved_by != "loopback" or not is_same_person(person.subject, self._key.subject):
            raise unsigned(f"{person.subject} is not the owner of the key")
        if card.max_sign_in_age is not None:
            raise unproved_sign_in(card.confirmation_id, card.max_sign_in_age)
        return sign_decision(
            decision, self._key, digest=digest, at=self._now(), subject=self._key.subject
        )


def unsigned(reason: str) -> ProblemError:
    """Return the problem of a person whom the service cannot vouch for."""
    return ProblemError(
        HTTPStatus.FORBIDDEN,
        f"decisions are signed here, and the {reason}: sign in and decide in the inbox",
        code="SignInNeeded",
    )
