"""`orchestrator rollback ...`: parked obligations, and the decisions of operators."""

from typing import Annotated, Literal

import typer

from orchestrator.cli.options import MissionId, new_app
from orchestrator.cli.output import AsJson, account_name, ask, present

app = new_app(no_args_is_help=True)


@app.command("list")
def list_parked(as_json: AsJson = False) -> None:
    """List every obligation that waits for an operator.

    Example: orchestrator rollback list
    """
    from orchestrator.cli import render_missions

    found = ask(lambda client: client.parked())
    present(found, render_missions.parked_list, as_json=as_json)


@app.command()
def show(mission_id: MissionId, as_json: AsJson = False) -> None:
    """Show a rollback as it stands.

    Example: orchestrator rollback show trip-1a2b3c
    """
    from orchestrator.cli import render_missions

    report = ask(lambda client: client.rollback_report(mission_id))
    present(report, render_missions.rollback, as_json=as_json)


@app.command()
def resolve(
    obligation_id: Annotated[str, typer.Argument(help="The obligation's id.")],
    decision: Annotated[
        Literal["retry", "cancelled", "accept"],
        typer.Argument(help="Try again, note as cancelled elsewhere, or accept that it stands."),
    ],
    note: Annotated[str, typer.Option(help="For the record.")] = "",
    operator: Annotated[
        str | None, typer.Option(help="The operator who decides; default: your account.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide on a parked obligation.

    Example: orchestrator rollback resolve trip-1a2b3c.1-flights.2 retry
    """
    from orchestrator.cli import render_missions

    who = operator or account_name()
    report = ask(
        lambda client: client.resolve(obligation_id, decision, operator=who, note=note),
        notes_silence=True,
    )
    present(report, render_missions.rollback, as_json=as_json)


@app.command()
def sweep(as_json: AsJson = False) -> None:
    """Roll back missions that were stopped from outside.

    Workers do it by themselves every few minutes (ORCHESTRATOR_SWEEP_INTERVAL).

    Example: orchestrator rollback sweep
    """
    from orchestrator.cli import render_missions

    present(ask(lambda client: client.sweep()), render_missions.sweep, as_json=as_json)
