"""`orchestrator agents ...`: the profiles that legs are given to, and what each may touch."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.document_options import open_catalog
from orchestrator.cli.options import Overlays, Specs
from orchestrator.cli.output import AsJson, console, print_json
from orchestrator.settings import load_settings

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def agents() -> None:
    """Check what agent profiles may touch before a worker runs with them."""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A YAML or JSON list of agent profiles.")],
    specs: Specs = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Check a file of agent profiles against the tools; exit 1 when something is wrong with it.

    Example: orchestrator agents check agents.yaml --specs specs/
    """
    from orchestrator.planning.walls import is_inside
    from orchestrator.runtime.agent_profiles import examine_profiles

    catalog = open_catalog(specs, overlays)
    own_planner = load_settings().planner is not None
    examined = examine_profiles(file, catalog, own_planner=own_planner)
    inside = {
        profile.name: sum(is_inside(tool, (profile.wall,)) for tool in catalog.tools.values())
        for profile in examined.profiles
    }
    if as_json:
        agents = [{"name": name, "tools": tools} for name, tools in inside.items()]
        faults = [fault.model_dump() for fault in examined.faults]
        missing = [fault.model_dump() for fault in examined.missing]
        print_json({"file": str(file), "agents": agents, "faults": faults, "missing": missing})
    else:
        for name, tools in inside.items():
            console.print(f"{name}: may use {tools} of {len(catalog)} tools")
        for fault in examined.faults:
            console.print(f"{file}: {fault}", soft_wrap=True)
        for fault in examined.missing:
            console.print(f"to be set where its worker runs: {fault}", soft_wrap=True)
    if examined.faults:
        raise typer.Exit(1)
