"""`orchestrator rollback ...`: what rollbacks could not undo, and what an operator decides."""

from typing import Annotated

import typer

from orchestrator.cli import render
from orchestrator.cli.output import AsJson, console, print_json, run, whoami
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import UsageError
from orchestrator.messages.rollback import RollbackReport, SweepReport
from orchestrator.saga.ledger import Resolution

app = typer.Typer(add_completion=False, no_args_is_help=True)

_WORDS: dict[str, Resolution] = {"retry": "retry", "cancelled": "cancelled", "accept": "accept"}


@app.command("list")
def list_parked(as_json: AsJson = False) -> None:
    """Every rollback that waits for an operator.

    Example: orchestrator rollback list
    """

    async def load() -> list[RollbackReport]:
        return await (await MissionClient.connect()).parked()

    reports = run(load())
    if as_json:
        print_json(reports)
        return
    for report in reports:
        render.rollback(console, report)
    if not reports:
        console.print("nothing is parked")


@app.command()
def show(
    mission_id: Annotated[str, typer.Argument(help="The mission's id.")], as_json: AsJson = False
) -> None:
    """One rollback as it stands.

    Example: orchestrator rollback show trip-1a2b3c
    """

    async def load() -> RollbackReport:
        return await (await MissionClient.connect()).rollback_report(mission_id)

    report = run(load())
    if as_json:
        print_json(report)
    else:
        render.rollback(console, report)


@app.command()
def resolve(
    obligation_id: Annotated[str, typer.Argument(help="The obligation's id.")],
    decision: Annotated[str, typer.Argument(help="retry, cancelled (elsewhere) or accept.")],
    note: Annotated[str, typer.Option(help="For the record.")] = "",
    operator: Annotated[str | None, typer.Option(help="Who decides; default: you.")] = None,
) -> None:
    """Decide on a parked obligation.

    Example: orchestrator rollback resolve trip-1a2b3c.1-flights.2 retry
    """
    if decision not in _WORDS:
        raise UsageError(f"{decision!r} is not a decision; use retry, cancelled or accept")

    async def send() -> RollbackReport:
        client = await MissionClient.connect()
        return await client.resolve(
            obligation_id, _WORDS[decision], operator=operator or whoami(), note=note
        )

    render.rollback(console, run(send()))


@app.command()
def sweep(as_json: AsJson = False) -> None:
    """Roll back, now, every mission that was terminated or timed out and left something.

    Workers do it by themselves every few minutes (ORCHESTRATOR_SWEEP_INTERVAL).

    Example: orchestrator rollback sweep
    """

    async def ask() -> SweepReport:
        return await (await MissionClient.connect()).sweep()

    report = run(ask())
    if as_json:
        print_json(report)
    else:
        render.sweep(console, report)
