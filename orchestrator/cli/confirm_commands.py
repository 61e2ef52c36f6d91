"""`orchestrator confirm ...`: read the open cards and decide on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.catalog.card_types import PLAN
from orchestrator.cli import render_waiting
from orchestrator.cli.asking import ask, confirmed, require_terminal
from orchestrator.cli.options import read_pairs
from orchestrator.cli.output import AsJson, console, present, print_json, progress
from orchestrator.cli.signing import make_key, sign_as
from orchestrator.confirmation.models import MOST_TEXT, Amend, Approve, Reject, Respond, Then
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # `ask` imports them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.confirmation.models import DecisionReceipt

app = typer.Typer(add_completion=False, no_args_is_help=True)

_DIGEST = "--digest, the digest of the card that was read (orchestrator confirm show CID)"

ConfirmationId = Annotated[str, typer.Argument(metavar="CID", help="The confirmation's id.")]
Approver = Annotated[
    str | None,
    typer.Option("--approver", help="Who decides; default: as the key says, or your account."),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", help="Sign with the private key of this PEM or JWK file."),
]
Issuer = Annotated[
    str | None,
    typer.Option("--issuer", help="With --key: who vouches for the approver; or the key says it."),
]


@app.command("list")
def list_cards(as_json: AsJson = False) -> None:
    """Every card that waits for a decision and every question, what expires first at the head.

    A leg that cannot be asked what it waits for is named, with its task queue.

    Example: orchestrator confirm list
    """
    found = ask(lambda client: client.waiting(), tells_silence=True)
    if as_json:
        print_json(found.entries())
    else:
        render_waiting.waiting(console, found)


@app.command()
def show(confirmation_id: ConfirmationId, as_json: AsJson = False) -> None:
    """One card, whole.

    Example: orchestrator confirm show trip-1a2b3c.1-flights.2
    """
    card = ask(lambda client: client.confirmation(confirmation_id), tells_silence=True)
    present(card, render_waiting.card, as_json=as_json)


@app.command()
def approve(
    confirmation_id: ConfirmationId,
    digest: Annotated[
        str | None,
        typer.Option(help="Of the card that was read; nothing is asked, for scripts."),
    ] = None,
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Yes, to exactly what a card shows: it is shown, and you are asked.

    With --digest, as `confirm show` prints it, nothing is asked, and a card that shows something
    else by now is not approved.

    Example: orchestrator confirm approve trip-1a2b3c.1-flights.2 --key ann.jwk
    """
    sign = sign_as(key, approver=approver, issuer=issuer)
    read = digest or _read_and_agreed(confirmation_id, as_json=as_json)
    approval = Approve(confirmation_id=confirmation_id, digest=read)
    receipt = ask(lambda client: client.decide(sign(approval, read)), tells_silence=True)
    present(receipt, render_waiting.receipt, as_json=as_json)


def _read_and_agreed(confirmation_id: str, *, as_json: bool) -> str:
    """The digest of the card that the person at the terminal was shown, and said yes to."""
    if as_json:
        raise UsageError(f"--json asks nothing; give {_DIGEST}")
    require_terminal(_DIGEST)
    card = ask(lambda client: client.confirmation(confirmation_id), tells_silence=True)
    # With the question, on standard error: standard output may be going somewhere else.
    render_waiting.card(progress, card)
    # However long the card was, what it costs is read last.
    price = "of which no price is known" if card.price is None else f"for {card.price}"
    asked = (
        "Begin exactly this plan" if card.card_type == PLAN else f"Approve exactly this, {price}"
    )
    if not confirmed(f"{asked}?", instead=_DIGEST):
        progress.print("not approved; the card still waits")
        raise typer.Exit(1)
    return card.digest


@app.command()
def amend(
    confirmation_id: ConfirmationId,
    changes: Annotated[list[str], typer.Argument(metavar="K=V...", help="Changed arguments.")],
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Change arguments; the new card has to be approved in its turn.

    Example: orchestrator confirm amend dinner-1a2b3c.1-dining.2 party_size=5
    """
    amendment = Amend(confirmation_id=confirmation_id, changes=read_pairs(changes))
    receipt = _decided(amendment, key, approver=approver, issuer=issuer)
    present(receipt, render_waiting.receipt, as_json=as_json)


@app.command()
def respond(
    confirmation_id: ConfirmationId,
    text: Annotated[str, typer.Option("--text", help="What is wanted instead, for the planner.")],
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """Not this: the planner looks again with your words, and asks again.

    It reads them as what is wanted, and never as an order to do anything else.

    Example: orchestrator confirm respond trip-1a2b3c.1-flights.2 --text "a later flight"
    """
    if not text.strip():
        raise UsageError("--text says what is wanted instead; an empty one says nothing")
    if len(text) > MOST_TEXT:
        raise UsageError(f"--text has at most {MOST_TEXT} characters")
    response = Respond(confirmation_id=confirmation_id, text=text)
    receipt = _decided(response, key, approver=approver, issuer=issuer)
    present(receipt, render_waiting.receipt, as_json=as_json)


@app.command()
def reject(
    confirmation_id: ConfirmationId,
    reason: Annotated[str, typer.Option("--reason", help="Why not; the mission records it.")],
    then: Annotated[
        Then,
        typer.Option(
            "--then",
            help="What follows: the planner looks for another way (replan), this part of the goal "
            "is left out (skip), or all that the mission did is undone (undo).",
        ),
    ] = "replan",
    approver: Approver = None,
    key: Key = None,
    issuer: Issuer = None,
    as_json: AsJson = False,
) -> None:
    """No. What follows, --then says.

    A planner that finds no other way loses its part of the goal, and the mission is undone.

    Example: orchestrator confirm reject trip-1a2b3c.1-flights.2 --reason "too early" --then skip
    """
    rejection = Reject(confirmation_id=confirmation_id, reason=reason, then=then)
    receipt = _decided(rejection, key, approver=approver, issuer=issuer)
    present(receipt, render_waiting.receipt, as_json=as_json)


def _decided(
    decision: Amend | Reject | Respond,
    key: Path | None,
    *,
    approver: str | None,
    issuer: str | None,
) -> "DecisionReceipt":
    """What became of a decision; a signed one is on the card as it is open now."""
    sign = sign_as(key, approver=approver, issuer=issuer)

    async def send(client: "MissionClient") -> "DecisionReceipt":
        is_read = key is not None
        digest = (await client.confirmation(decision.confirmation_id)).digest if is_read else ""
        return await client.decide(sign(decision, digest))

    return ask(send, tells_silence=True)


@app.command()
def keygen(
    file: Annotated[Path, typer.Argument(help="Where the private key is written; a new file.")],
    approver: Annotated[str, typer.Option("--approver", help="Whom it signs for, nobody else.")],
    issuer: Annotated[str, typer.Option("--issuer", help="Who vouches for them: a name or URL.")],
) -> None:
    """Make a key pair for one person; prints the public key, for the set of the workers' keys.

    Example: orchestrator confirm keygen ann.jwk --approver ann@example.com --issuer example.com
    """
    print_json(make_key(file, approver=approver, issuer=issuer))
