"""`orchestrator settings` and `agents`: settings, and profiles of agents."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import Overlays, Specs, new_app, open_catalog
from orchestrator.cli.output import AsJson, console, line, print_json, table_of
from orchestrator.cli.service_commands import note_doubtful_settings

app = new_app()
agents_app = new_app(no_args_is_help=True)


@app.command()
def settings(
    only_set: Annotated[
        bool, typer.Option("--set", help="Only those that differ from their default.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List all settings with their defaults and current values.

    A secret is shown as set or not. Variables that begin with ORCHESTRATOR_ and are none of these
    are named on standard error, for they are misspelt; so is a standing approval of the mission
    policy without total and per_day.

    Example: orchestrator settings --set
    """
    from orchestrator.runtime.settings_table import setting_rows
    from orchestrator.settings import load_settings

    loaded = load_settings()
    rows = [row for row in setting_rows(loaded) if row.is_set or not only_set]
    if as_json:
        print_json(rows)
    else:
        table = table_of("variable", "now", "what it is for")
        for row in rows:
            now = (row.now, "bold") if row.is_set else (row.now, "dim")
            table.add_row(row.variable, line(now), row.meaning)
        console.print(table)
    note_doubtful_settings(loaded)


@agents_app.callback()
def agents() -> None:
    """Check the tools that agent profiles may use."""


@agents_app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A YAML or JSON list of agent profiles.")],
    specs: Specs = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Check agent profiles against the tools; exit 1 on errors.

    Example: orchestrator agents check agents.yaml --specs specs/
    """
    from orchestrator.planning.walls import is_inside
    from orchestrator.runtime.extensions import examine_profiles
    from orchestrator.settings import load_settings

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
