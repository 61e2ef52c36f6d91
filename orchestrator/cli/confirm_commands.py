"""`orchestrator confirm ...`: read the open cards and decide on them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.notices_commands import notices
from orchestrator.cli.options import new_app, read_money, read_pairs
from orchestrator.cli.output import (
    AsJson,
    account_name,
    ask,
    confirmed,
    console,
    present,
    print_json,
    progress,
    require_terminal,
)
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.confirmation.models import (
        Amend,
        ConfirmationCard,
        Decision,
        DecisionReceipt,
        Reject,
        Respond,
    )
    from orchestrator.messages.leg import Question

app = new_app(no_args_is_help=True)

_DIGEST = "--digest, the digest of the card that was read (orchestrator confirm show CID)"

Sign = Callable[["Decision", str], "Decision"]
"""Adds the approver to a decision and, with a key, a signature over the card with this digest."""

ConfirmationId = Annotated[str, typer.Argument(metavar="CID", help="The confirmation's id.")]
Approver = Annotated[
    str | None,
    typer.Option(
        "--approver", help="The person who decides; default: of the key, or your account."
    ),
]
Key = Annotated[
    Path | None, typer.Option("--key", help="Sign with the private key of this PEM or JWK file.")
]
Issuer = Annotated[
    str | None,
    typer.Option("--issuer", help="With --key: who vouches for the approver; or the key says it."),
]


@app.command("list")
def list_cards(as_json: AsJson = False) -> None:
    """List open cards and questions, the first to expire at the top.

    Example: orchestrator confirm list
    """
    from orchestrator.cli import render_waiting

    found = ask(lambda client: client.waiting())
    if as_json:
        print_json(found.entries())
    else:
        render_waiting.waiting(console, found)


@app.command()
def show(confirmation_id: ConfirmationId, as_json: AsJson = False) -> None:
    """Show a card, or a question with the commands that answer it.

    Example: orchestrator confirm show trip-1a2b3c.1-flights.2
    """
    from orchestrator.cli import render_waiting
    from orchestrator.confirmation.models import ConfirmationCard
    from orchestrator.core.errors import CardUnknown

    async def card_or_question(client: "MissionClient") -> "ConfirmationCard | Question":
        try:
            return await client.confirmation(confirmation_id)
        except CardUnknown:
            if (question := await client.question(confirmation_id)) is None:
                raise
            return question

    shown = ask(card_or_question)
    if isinstance(shown, ConfirmationCard):
        present(shown, render_waiting.card, as_json=as_json)
    else:
        present(shown, render_waiting.asked, as_json=as_json)


@app.command()
def approve(
    confirmation_id: ConfirmationId,
    digest: Annotated[
        str | None,
        typer.Option(help="The digest of the card that was read, for scripts: no prompt."),
    ] = None,
    again_up_to: Annotated[
        str | None, typer.Option(help='Also later calls like this one, up to this sum: "100 EUR".')
    ] = None,
    again_until: Annotated[
        str | None, typer.Option(help="Until when: 18:00 on this machine's clock, or ISO 8601.")
    ] = None,
    again_differ: Annotated[
        list[str] | None, typer.Option(help="An input that may differ in these calls; repeatable.")
    ] = None,
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Approve exactly the call of a card, after it was shown.

    With --digest, as `confirm show` prints it, nothing is asked, and a card that shows something
    else by now is not approved.

    With --again-up-to and --again-until, later calls of the same mission with the same inputs are
    approved too, as far as the worker's policy (same_again) permits; `reject --rule` ends that.

    Example: orchestrator confirm approve trip-1a2b3c.1-flights.2 --key ann.jwk

    Example: orchestrator confirm approve CID --again-up-to "100 EUR" --again-until 18:00
    """
    from orchestrator.catalog.card_types import PLAN
    from orchestrator.cli import render_waiting
    from orchestrator.confirmation.models import Approve

    sign = sign_as(key, approver=approver, issuer=issuer)
    again = None
    if again_up_to is not None or again_until is not None or again_differ:
        if again_up_to is None or again_until is None:
            raise UsageError("a rule needs --again-up-to and --again-until")
        from orchestrator.confirmation.same_again import SameAgain

        amount, _, currency = again_up_to.strip().rpartition(" ")
        most = read_money(amount, currency, where="--again-up-to")
        until, differ = _moment(again_until), tuple(again_differ or ())
        again = SameAgain(up_to=most, until=until, may_differ=differ)
    read = digest or ""
    if not read:
        if as_json:
            raise UsageError(f"--json never prompts: give {_DIGEST}")
        require_terminal(_DIGEST)
        card = ask(lambda client: client.confirmation(confirmation_id))
        # With the question, on standard error: standard output may be going somewhere else.
        render_waiting.card(progress, card)
        # However long the card was, what it costs is read last.
        price = "of which no price is known" if card.price is None else f"for {card.price}"
        asked = f"Approve exactly this, {price}?"
        if card.card_type == PLAN:
            asked = "Begin exactly this plan?"
        if not confirmed(asked, instead=_DIGEST):
            progress.print("not approved; the card still waits")
            raise typer.Exit(1)
        read = card.digest
    approval = Approve(confirmation_id=confirmation_id, digest=read, again=again)
    receipt = ask(lambda client: client.decide(sign(approval, read)), notes_silence=True)
    present(receipt, render_waiting.receipt, as_json=as_json)


def _moment(text: str) -> datetime:
    """Read a time of today, or of tomorrow if it has passed, or a date with its time."""
    now = datetime.now().astimezone()
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text):
            read = time.fromisoformat(text.zfill(5))
            at = datetime.combine(now.date(), read).astimezone()
            tomorrow = datetime.combine(now.date() + timedelta(days=1), read).astimezone()
            return at if at > now else tomorrow
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a time; write 18:00, or 2027-06-04T18:00Z") from None
    return at.astimezone() if at.tzinfo is None else at


@app.command()
def amend(
    confirmation_id: ConfirmationId,
    changes: Annotated[list[str], typer.Argument(metavar="K=V...", help="Changed arguments.")],
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Change arguments; the new card has to be approved again.

    Example: orchestrator confirm amend dinner-1a2b3c.1-dining.2 party_size=5
    """
    from orchestrator.confirmation.models import Amend

    amendment = Amend(confirmation_id=confirmation_id, changes=read_pairs(changes))
    _decide(amendment, key, approver=approver, issuer=issuer, as_json=as_json)


@app.command()
def respond(
    confirmation_id: ConfirmationId,
    text: Annotated[str, typer.Option("--text", help="The hint, such as: a later flight.")],
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Decline with a hint: the planner looks again, and asks again.

    It reads them as what is wanted, and never as an order to do anything else.

    Example: orchestrator confirm respond trip-1a2b3c.1-flights.2 --text "a later flight"
    """
    from orchestrator.confirmation.models import MOST_TEXT, Respond

    if not text.strip():
        raise UsageError("--text is empty: write what the planner shall look for instead")
    if len(text) > MOST_TEXT:
        raise UsageError(f"--text has at most {MOST_TEXT} characters")
    response = Respond(confirmation_id=confirmation_id, text=text)
    _decide(response, key, approver=approver, issuer=issuer, as_json=as_json)


@app.command()
def reject(
    confirmation_id: ConfirmationId,
    reason: Annotated[str, typer.Option("--reason", help="Why not; the mission records it.")],
    then: Annotated[
        Literal["replan", "skip", "rollback"],
        typer.Option(
            "--then",
            help="The planner looks for another way (replan), this part of the goal is left out "
            "(skip), or the mission is rolled back (rollback).",
        ),
    ] = "replan",
    rule: Annotated[
        bool, typer.Option("--rule", help="End the rule for later calls that its approval made.")
    ] = False,
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Reject a card, and say by --then how the mission goes on.

    Where the planner finds no other way, the mission is rolled back. With --rule, calls like that
    of the card, which was approved with --again, are asked about again; `mission show` lists rules.

    Example: orchestrator confirm reject trip-1a2b3c.1-flights.2 --reason "too early" --then skip
    """
    from orchestrator.cli import render_waiting
    from orchestrator.confirmation.models import Reject

    if rule:
        if key is not None or issuer is not None or then != "replan":
            raise UsageError("--rule takes --reason and --approver alone")
        by = approver or account_name()
        revoked = ask(
            lambda client: client.revoke(confirmation_id, by=by, reason=reason), notes_silence=True
        )
        return present(revoked, render_waiting.rule, as_json=as_json)
    rejection = Reject(confirmation_id=confirmation_id, reason=reason, then=then)
    _decide(rejection, key, approver=approver, issuer=issuer, as_json=as_json)


def sign_as(key: Path | None, *, approver: str | None, issuer: str | None) -> Sign:
    """Return the function that signs decisions as the options of a command say."""
    if key is None:
        if issuer:
            raise UsageError("--issuer says who vouches for a signature: give --key FILE too")
        name = approver or account_name()
        return lambda decision, _: decision.model_copy(update={"approver": name})
    from orchestrator.adapters.approval_keys import load_signing_key
    from orchestrator.confirmation.signatures import sign_decision

    signing = load_signing_key(key)
    subject = approver or signing.subject or account_name()
    vouching = issuer or signing.issuer
    if not vouching:
        raise UsageError(f"{key} does not say who vouches for the approver: give --issuer NAME")
    return lambda decision, digest: sign_decision(
        decision, signing, digest=digest, at=datetime.now(UTC), issuer=vouching, subject=subject
    )


def _decide(
    decision: "Amend | Reject | Respond",
    key: Path | None,
    *,
    approver: str | None,
    issuer: str | None,
    as_json: bool,
) -> None:
    """Send a decision and print its receipt; a signature covers the card that is open now."""
    from orchestrator.cli import render_waiting

    sign = sign_as(key, approver=approver, issuer=issuer)

    async def send(client: "MissionClient") -> "DecisionReceipt":
        is_read = key is not None
        digest = (await client.confirmation(decision.confirmation_id)).digest if is_read else ""
        return await client.decide(sign(decision, digest))

    present(ask(send, notes_silence=True), render_waiting.receipt, as_json=as_json)


app.command()(notices)
