"""`orchestrator confirm ...`: read the open cards and decide on them."""

from getpass import getuser
from typing import Annotated

import typer

from orchestrator.cli import render_cards
from orchestrator.cli.asking import confirmed, require_terminal
from orchestrator.cli.connected import ask
from orchestrator.cli.options import read_pairs
from orchestrator.cli.output import AsJson, present, progress
from orchestrator.core.errors import UsageError

app = typer.Typer(add_completion=False, no_args_is_help=True)

_DIGEST = "--digest, the digest of the card that was read (orchestrator confirm show CID)"

ConfirmationId = Annotated[str, typer.Argument(metavar="CID", help="The confirmation's id.")]
Approver = Annotated[
    str | None, typer.Option("--approver", help="Who decides; default: your account's name.")
]


@app.command("list")
def list_cards(as_json: AsJson = False) -> None:
    """Every card that waits for a decision.

    Example: orchestrator confirm list
    """
    present(ask(lambda client: client.confirmations()), render_cards.cards, as_json=as_json)


@app.command()
def show(confirmation_id: ConfirmationId, as_json: AsJson = False) -> None:
    """One card, whole.

    Example: orchestrator confirm show trip-1a2b3c.1-flights.2
    """
    card = ask(lambda client: client.confirmation(confirmation_id))
    present(card, render_cards.card, as_json=as_json)


@app.command()
def approve(
    confirmation_id: ConfirmationId,
    digest: Annotated[
        str | None,
        typer.Option(help="Of the card that was read; nothing is asked, for scripts."),
    ] = None,
    approver: Approver = None,
    as_json: AsJson = False,
) -> None:
    """Yes, to exactly what a card shows: it is shown, and you are asked.

    With --digest, as `confirm show` prints it, nothing is asked, and a card that shows something
    else by now is not approved.

    Example: orchestrator confirm approve trip-1a2b3c.1-flights.2
    """
    if digest is None:
        digest = _read_and_agreed(confirmation_id, as_json=as_json)
    read, who = digest, approver or getuser()
    receipt = ask(lambda client: client.approve(confirmation_id, read, approver=who))
    present(receipt, render_cards.receipt, as_json=as_json)


def _read_and_agreed(confirmation_id: str, *, as_json: bool) -> str:
    """The digest of the card that the person at the terminal was shown, and said yes to."""
    if as_json:
        raise UsageError(f"--json asks nothing; give {_DIGEST}")
    require_terminal(_DIGEST)
    card = ask(lambda client: client.confirmation(confirmation_id))
    # With the question, on standard error: standard output may be going somewhere else.
    render_cards.card(progress, card)
    # However long the card was, what it costs is read last.
    price = "of which no price is known" if card.price is None else f"for {card.price}"
    if not confirmed(f"Approve exactly this, {price}?", instead=_DIGEST):
        progress.print("not approved; the card still waits")
        raise typer.Exit(1)
    return card.digest


@app.command()
def amend(
    confirmation_id: ConfirmationId,
    changes: Annotated[list[str], typer.Argument(metavar="K=V...", help="Changed arguments.")],
    approver: Approver = None,
    as_json: AsJson = False,
) -> None:
    """Change arguments; the new card has to be approved in its turn.

    Example: orchestrator confirm amend dinner-1a2b3c.1-dining.2 party_size=5
    """
    who, changed = approver or getuser(), read_pairs(changes)
    receipt = ask(lambda client: client.amend(confirmation_id, changed, approver=who))
    present(receipt, render_cards.receipt, as_json=as_json)


@app.command()
def reject(
    confirmation_id: ConfirmationId,
    reason: Annotated[str, typer.Option("--reason", help="Why not; the mission records it.")],
    approver: Approver = None,
    as_json: AsJson = False,
) -> None:
    """No. The leg is lost, and what the mission did is rolled back.

    Example: orchestrator confirm reject trip-1a2b3c.1-flights.2 --reason "too early"
    """
    who = approver or getuser()
    receipt = ask(lambda client: client.reject(confirmation_id, reason=reason, approver=who))
    present(receipt, render_cards.receipt, as_json=as_json)
