"""`orchestrator mission resume`: what to do about legs that wait for their model."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.connected import ask
from orchestrator.cli.drawing import line
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # they import the client, which takes a while
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.messages.model_trouble import ModelPause


def resume(
    named: Annotated[
        str,
        typer.Argument(metavar="ID", help="The id of the pause, or of the mission: all its legs."),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:MODEL", help="Go on with this model from here."),
    ] = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Fail the leg: its mission is rolled back.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the model of a leg that waits for it again now, or another one, or give up.

    A model is looked up where the leg runs, and one that cannot be asked there is refused.

    Example: orchestrator mission resume trip-1a2b3c --model anthropic:claude-sonnet-4-5
    """
    if give_up and model is not None:
        raise UsageError("--model and --give-up: choose one of them")

    async def go_on(client: "MissionClient") -> "list[ModelPause]":
        mission = client.get(named.partition(".")[0])
        pause_id = named if "." in named else None
        return await mission.resume(pause_id, model=model, give_up=give_up, by=account_name())

    taken = ask(go_on, tells_silence=True)
    if as_json:
        print_json([pause.model_dump(mode="json") for pause in taken])
        return
    does = "given up" if give_up else f"asks {model or 'its model again'}"
    for pause in taken:
        console.print(line(f"{pause.mission_id}.{pause.leg_id}: {does}"), soft_wrap=True)
