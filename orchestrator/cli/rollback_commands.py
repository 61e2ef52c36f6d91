"""`orchestrator rollback ...`: what rollbacks could not take back, and what an operator decides."""

from typing import Annotated

import typer

from orchestrator.cli import render_missions
from orchestrator.cli.asking import ask
from orchestrator.cli.output import AsJson, present
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError
from orchestrator.saga.ledger import Resolution

app = typer.Typer(add_completion=False, no_args_is_help=True)

_WORDS: dict[str, Resolution] = {"retry": "retry", "cancelled": "cancelled", "accept": "accept"}


@app.command("list")
def list_parked(as_json: AsJson = False) -> None:
    """Every obligation that waits for an operator, from the moment it is parked.

    Example: orchestrator rollback list
    """
    found = ask(lambda client: client.parked(), tells_silence=True)
    present(found, render_missions.parked_list, as_json=as_json)


@app.command()
def show(
    mission_id: Annotated[str, typer.Argument(help="The mission's id.")], as_json: AsJson = False
) -> None:
    """One rollback as it stands.

    Example: orchestrator rollback show trip-1a2b3c
    """
    report = ask(lambda client: client.rollback_report(mission_id), tells_silence=True)
    present(report, render_missions.rollback, as_json=as_json)


@app.command()
def resolve(
    obligation_id: Annotated[str, typer.Argument(help="The obligation's id.")],
    decision: Annotated[str, typer.Argument(help="retry, cancelled (elsewhere) or accept.")],
    note: Annotated[str, typer.Option(help="For the record.")] = "",
    operator: Annotated[str | None, typer.Option(help="Who decides; default: you.")] = None,
    as_json: AsJson = False,
) -> None:
    """Decide on a parked obligation.

    Example: orchestrator rollback resolve trip-1a2b3c.1-flights.2 retry
    """
    if decision not in _WORDS:
        raise UsageError(f"{decision!r} is not a decision; use retry, cancelled or accept")
    who = operator or account_name()
    report = ask(
        lambda client: client.resolve(obligation_id, _WORDS[decision], operator=who, note=note),
        tells_silence=True,
    )
    present(report, render_missions.rollback, as_json=as_json)


@app.command()
def sweep(as_json: AsJson = False) -> None:
    """Roll back, now, every mission that was terminated or timed out and left something.

    Workers do it by themselves every few minutes (ORCHESTRATOR_SWEEP_INTERVAL).

    Example: orchestrator rollback sweep
    """
    present(ask(lambda client: client.sweep()), render_missions.sweep, as_json=as_json)
