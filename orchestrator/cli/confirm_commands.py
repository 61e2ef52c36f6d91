"""`orchestrator confirm ...`: read the open cards and decide on them."""

from getpass import getuser
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import render_cards
from orchestrator.cli.connected import ask
from orchestrator.cli.options import read_pairs
from orchestrator.cli.output import AsJson, present

if TYPE_CHECKING:  # `ask` imports them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.confirmation.models import DecisionReceipt

app = typer.Typer(add_completion=False, no_args_is_help=True)

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
        typer.Option(help="The digest you read; refused when the card shows another by now."),
    ] = None,
    approver: Approver = None,
    as_json: AsJson = False,
) -> None:
    """Yes, to exactly what the card shows now.

    Example: orchestrator confirm approve trip-1a2b3c.1-flights.2
    """

    async def send(client: "MissionClient") -> "DecisionReceipt":
        read = digest or (await client.confirmation(confirmation_id)).digest
        return await client.approve(confirmation_id, read, approver=approver or getuser())

    present(ask(send), render_cards.receipt, as_json=as_json)


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
