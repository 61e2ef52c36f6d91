"""`orchestrator confirm ...`: read the open cards and decide on them."""

from typing import Annotated

import typer

from orchestrator.cli import render
from orchestrator.cli.options import read_pairs
from orchestrator.cli.output import AsJson, console, print_json, run, whoami
from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import ConfirmationCard, DecisionReceipt

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

    async def load() -> list[ConfirmationCard]:
        return await (await MissionClient.connect()).confirmations()

    cards = run(load())
    if as_json:
        print_json(cards)
    else:
        render.cards(console, cards)


@app.command()
def show(confirmation_id: ConfirmationId, as_json: AsJson = False) -> None:
    """One card, whole.

    Example: orchestrator confirm show trip-1a2b3c.1-flights.2
    """

    async def load() -> ConfirmationCard:
        return await (await MissionClient.connect()).confirmation(confirmation_id)

    card = run(load())
    if as_json:
        print_json(card)
    else:
        render.card(console, card)


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

    async def send() -> DecisionReceipt:
        client = await MissionClient.connect()
        read = digest or (await client.confirmation(confirmation_id)).digest
        return await client.approve(confirmation_id, read, approver=approver or whoami())

    _print_receipt(run(send()), as_json=as_json)


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

    async def send() -> DecisionReceipt:
        client = await MissionClient.connect()
        return await client.amend(
            confirmation_id, read_pairs(changes), approver=approver or whoami()
        )

    _print_receipt(run(send()), as_json=as_json)


@app.command()
def reject(
    confirmation_id: ConfirmationId,
    reason: Annotated[str, typer.Option("--reason", help="Why not; the mission records it.")],
    approver: Approver = None,
    as_json: AsJson = False,
) -> None:
    """No. The leg is lost, and what the mission did is undone.

    Example: orchestrator confirm reject trip-1a2b3c.1-flights.2 --reason "too early"
    """

    async def send() -> DecisionReceipt:
        client = await MissionClient.connect()
        return await client.reject(confirmation_id, reason=reason, approver=approver or whoami())

    _print_receipt(run(send()), as_json=as_json)


def _print_receipt(receipt: DecisionReceipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
        return
    console.print(f"{receipt.accepted}: {receipt.confirmation_id}")
    if receipt.card is not None:
        render.card(console, receipt.card)
