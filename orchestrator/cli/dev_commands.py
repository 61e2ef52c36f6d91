"""`orchestrator demo`, `dev` and `sandbox`: a whole installation, or only its providers."""

import asyncio
import shlex
import signal
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.clean_errors import print_error, show_log
from orchestrator.cli.options import (
    Model,
    Overlays,
    Specs,
    choose,
    model_variables,
    new_app,
    note_unmarked,
)
from orchestrator.cli.output import (
    AsJson,
    account_name,
    colored,
    console,
    line,
    print_json,
    progress,
    run,
    table_of,
)
from orchestrator.cli.service_commands import note_doubtful_settings
from orchestrator.core.errors import SkippedWarning, UsageError
from orchestrator.core.shown_text import number_of

if TYPE_CHECKING:  # help does without them
    from orchestrator.runtime.demo import DemoMission, DemoReport
    from orchestrator.runtime.devserver import Ports, Stack
    from orchestrator.sandbox.app import DocumentMemory


sandbox_app = new_app()


@sandbox_app.command()
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8700,
    db: Annotated[
        Path | None, typer.Option(help="SQLite file of its ledger; default: in memory.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Determines generated values.")] = 0,
    specs: Specs = None,
    overlays: Overlays = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print what would be served, and serve nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve OpenAPI documents as HTTP services with a ledger.

    Once it answers, it prints the address of each document, the kinds of things it remembers, and
    the operations that are not served and why.

    Each request is a line on standard error: the operation, and what was answered.

    Example: orchestrator sandbox --port 8700 --specs crm.yaml --overlay crm-tools.yaml

    Example: orchestrator sandbox --show --specs crm.yaml
    """
    from orchestrator import sandbox as sandbox_server
    from orchestrator.catalog.catalog import load_documents
    from orchestrator.sandbox.app import DocumentMemory, memories_of
    from orchestrator.settings import load_settings

    def as_document(base_url: str, memories: Sequence[DocumentMemory]) -> dict[str, Any]:
        shown = [{**memory.to_json(), "url": base_url + memory.path} for memory in memories]
        return {"url": base_url, "ledger": f"{base_url}/_sandbox/ledger", "documents": shown}

    def ready(running: sandbox_server.RunningSandbox) -> None:
        if as_json:
            print_json(as_document(running.base_url, running.memories))
        progress.print(f"sandbox answers at {running.base_url}")
        progress.print()
        draw_documents(progress, running.base_url, running.memories)
        every = f"{running.base_url}/_sandbox/documents"
        progress.print(f"all of it as JSON: {every}", soft_wrap=True)
        progress.print(
            "point a client at a document by its address above, in place of its own server;"
        )
        progress.print("any credential is taken (docs/testing.md)")
        show_log("orchestrator.sandbox")

    chosen = choose(load_settings(), specs, overlays)
    documents = load_documents(*chosen.specs, overlays=chosen.overlays)
    if chosen.overlays:
        note_unmarked(documents, chosen.specs)
    try:
        if show:
            with sandbox_server.EffectLedger() as ledger:
                memories = memories_of(sandbox_server.create_app(documents, ledger=ledger))
            if as_json:
                return print_json(as_document(f"http://{host}:{port}", memories))
            return draw_documents(console, f"http://{host}:{port}", memories)
        sandbox_server.run(
            chosen.specs,
            documents=documents,
            host=host,
            port=port,
            db=db or ":memory:",
            seed=seed,
            on_ready=ready,
        )
    except sandbox_server.DocumentError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error


_KINDS = 12
_SKIPPED = 5
_NAMES = 3


def draw_documents(console: Console, base_url: str, memories: tuple["DocumentMemory", ...]) -> None:
    """Draw the address of each document, and the kinds of things it remembers."""
    for memory in memories:
        console.print(f"{memory.document}: {base_url}{memory.path}", soft_wrap=True)
        served, skips = number_of(memory.served, "operation"), len(memory.skipped)
        console.print(f"  served: {served}; not served: {skips or 'none'}")
        for kind in memory.kinds[:_KINDS]:
            verbs = (f"{verb} {_first(named)}" for verb, named in kind.operations.items())
            console.print(f"  remembers {kind.thing}: {'; '.join(verbs)}", soft_wrap=True)
        if len(memory.kinds) > _KINDS:
            more = number_of(len(memory.kinds) - _KINDS, "more kind")
            console.print(f"  remembers {more} of things")
        if memory.unremembered:
            names = _first(list(memory.unremembered))
            console.print(f"  answers, and remembers nothing of: {names}", soft_wrap=True)
        draw_skipped(console, (memory,))
        console.print()


def draw_skipped(console: Console, memories: tuple["DocumentMemory", ...]) -> None:
    """Draw the operations that are not served, each with place, reason and remedy."""
    for memory in memories:
        for operation in memory.skipped[:_SKIPPED]:
            console.print(f"skipped: {operation}", soft_wrap=True)
        more = len(memory.skipped) - _SKIPPED
        if more > 0:
            console.print(f"skipped: {memory.document}: {number_of(more, 'more operation')}")


def _first(operations: list[str]) -> str:
    more = len(operations) - _NAMES
    return ", ".join(operations[:_NAMES]) + (f" and {more} more" if more > 0 else "")


app = new_app()
demo_app = new_app()


@demo_app.command()
def demo(
    as_json: AsJson = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep server, ledger and logs in this folder.")
    ] = None,
    model: Model = None,
) -> None:
    """Run three missions: a success, a rollback, a killed worker.

    Exit 1 if one of them ends otherwise.

    Example: orchestrator demo --json | jq .ok

    Example: OPENAI_API_KEY=... orchestrator demo --model openai:gpt-5
    """
    report = run(_demo(keep, model_variables(model)))
    if keep is not None:
        progress.print(f"to look at it again: orchestrator dev --folder {shlex.quote(str(keep))}")
    if as_json:
        print_json(report)
    else:
        for mission in report.missions:
            _demo_mission(console, mission)
        verdict = ("all as promised", "bold green")
        if not report.ok:
            verdict = ("NOT as promised", "bold red")
        took = f" in {report.seconds:.1f} s; the Temporal UI was at {report.ui_url}"
        console.print(line(verdict, took))
    if not report.ok:
        raise typer.Exit(1)


async def _demo(keep: Path | None, variables: Mapping[str, str]) -> "DemoReport":
    from orchestrator.runtime.demo import Demo
    from orchestrator.runtime.devserver import Ports, Stack
    from orchestrator.settings import bundled_specs

    with tempfile.TemporaryDirectory(prefix="orchestrator-demo-") as scratch:
        folder = keep or Path(scratch)
        stack = Stack(folder, (bundled_specs(),), Ports.free(), variables=variables)
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        try:
            progress.print(f"Temporal UI while this runs: {stack.ui_url}")
            return await Demo(stack, progress.print).run()
        finally:
            await stack.stop()


def _demo_mission(console: Console, mission: "DemoMission") -> None:
    result = mission.result
    status = colored(result.status.value)
    console.rule(line((mission.name, "bold"), f"  {result.mission_id}  ", status))
    table = table_of("s", "leg", "what", "tools seen", "outcome")
    start = mission.timeline[0].at if mission.timeline else None
    for entry in mission.timeline:
        after = 0.0 if start is None else (entry.at - start).total_seconds()
        table.add_row(f"{after:5.1f}", entry.leg, entry.what, entry.tools, entry.outcome)
    console.print(table)
    console.print()
    ledgers = table_of("the mission's ledger", "the sandbox's ledger")
    ours = [
        line(colored(one.state.value), f" {one.tool}{f' {one.price}' if one.price else ''}")
        for one in result.ledger.obligations
    ]
    theirs: list[str] = []
    for effect in mission.sandbox_ledger:
        amount = f" {effect.get('amount')} {effect.get('currency')}" if effect.get("amount") else ""
        kind, operation, state = (effect.get(key) for key in ("kind", "operation", "status"))
        theirs.append(f"{kind} {operation} → {state}{amount}")
    for row in zip_longest(ours, theirs, fillvalue=""):
        ledgers.add_row(*row)
    console.print(ledgers)
    console.print(
        f"live at the providers: {mission.live_effects}   "
        f"done twice: {mission.duplicate_effects}   spend: {result.spend}   "
        f"took {mission.seconds:.1f} s"
    )
    for problem in mission.problems:
        console.print(line(("not as promised:", "bold red"), f" {problem}"))
    console.print()


def _draw_addresses(stack: "Stack", goal: str, memories: Sequence["DocumentMemory"]) -> None:
    if stack.inbox_url is not None:
        console.print(f"inbox, API    {stack.inbox_url}")
    console.print(f"Temporal UI   {stack.ui_url}")
    console.print(f"Temporal      {stack.address}")
    console.print(f"sandbox       {stack.sandbox_url}")
    if stack.codec_url is not None:
        console.print(f"codec server  {stack.codec_url}")
    console.print(f"state, logs   {stack.folder}")
    console.print()
    console.print("In another terminal:")
    console.print(f"  source {shlex.quote(str(stack.exports))}", soft_wrap=True)
    console.print("  orchestrator tools list")
    console.print(f'  orchestrator mission start "{goal}" --wait', soft_wrap=True)
    console.print()
    if stack.codec_url is not None:
        token = f"type the token, {stack.codec_token.location}"
        console.print(
            "What is recorded is encrypted. For the Temporal UI to show it, in its browser:"
        )
        console.print(f"  open {stack.codec_url} and {token}", soft_wrap=True)
        console.print("  turn on Include cross-origin credentials, in the UI's codec settings")
        console.print()
    console.print("Ctrl-C stops it all; the state is kept.")
    for memory in memories:
        at = f"{stack.sandbox_url}{memory.path}"
        console.print(f"{memory.document} is served at {at}", soft_wrap=True)


@app.command()
def dev(
    temporal_port: Annotated[int, typer.Option(help="Port of the Temporal server.")] = 7233,
    ui_port: Annotated[int, typer.Option(help="Port of the Temporal Web UI.")] = 8233,
    sandbox_port: Annotated[int, typer.Option(help="Port of the sandbox.")] = 8700,
    codec_port: Annotated[
        int, typer.Option(help="Port of the codec server, which there is with payload keys.")
    ] = 8081,
    inbox_port: Annotated[int, typer.Option(help="Port of the inbox and the HTTP API.")] = 8600,
    folder: Annotated[
        Path | None, typer.Option(help="The folder for state; default: the state directory.")
    ] = None,
    specs: Specs = None,
    overlays: Overlays = None,
    model: Model = None,
) -> None:
    """Run Temporal, the sandbox, a worker and the inbox, until Ctrl-C.

    With payload keys (ORCHESTRATOR_PAYLOAD_KEYS_FILE) also the codec server, for the UI.

    The inbox is for one person without sign-in, on this machine only: the account that starts it.

    It shows their output, prints at once when one has ended and why, and starts it again.

    The sandbox stands in for all servers that the documents name: no tool is called anywhere else,
    neither by this worker nor by commands of a shell that has read env.sh.

    Example: orchestrator dev, then in another terminal: orchestrator mission start "..." --wait

    Example: orchestrator dev --specs crm.yaml --overlay crm-tools.yaml
    """
    from orchestrator.runtime.devserver import Ports

    variables = model_variables(model)
    ports = Ports(temporal_port, ui_port, sandbox_port, codec_port, inbox_port)
    run(_dev(ports, folder, specs, overlays, variables))


async def _dev(
    ports: "Ports",
    folder: Path | None,
    specs: list[Path] | None,
    overlays: list[Path] | None,
    variables: Mapping[str, str],
) -> None:
    from orchestrator.catalog.catalog import Catalog, load_sources
    from orchestrator.client.payloads import payload_keys_of
    from orchestrator.core.errors import KEYS_VARIABLE
    from orchestrator.runtime.devserver import Stack, held_alone
    from orchestrator.runtime.sandboxed_documents import (
        last_written,
        note_sources,
        sandbox_credentials,
        sources_of,
        write_redirected,
    )
    from orchestrator.runtime.supervision import Supervisor
    from orchestrator.settings import bundled_specs, load_settings

    settings = load_settings()
    if not payload_keys_of(settings).ids:
        ports = replace(ports, codec=None)
    ports.check_free()
    state = folder or settings.state_dir
    note_doubtful_settings(settings)
    with held_alone(state):
        _print("reading the documents")
        sources = sources_of(*choose(settings, specs, overlays), state)
        read = load_sources(*sources.specs, overlays=sources.overlays)
        kept = last_written(sources, read.unread, state)
        for name in kept:
            print_error(f"warning: {name} is used as it was when it could be read last")
        documents = {**read.documents, **kept}
        note_unmarked(documents, sources.specs)
        for operation in Catalog.from_documents(documents).skipped:
            warnings.warn(str(operation), SkippedWarning, stacklevel=2)
        written = write_redirected(documents, state, port=ports.sandbox)
        draw_skipped(progress, written.memories)
        note_sources(sources, state)
        # A path that shells in other folders can use.
        keys = settings.payload_keys_file
        key_file = {f"{KEYS_VARIABLE}_FILE": str(keys.absolute())} if keys is not None else {}
        stack = Stack(
            state,
            (written.folder,),
            ports,
            credentials=sandbox_credentials(documents),
            variables={**variables, **key_file},
            report=_print,
            local_user=account_name() or "local",
        )
        stop = asyncio.Event()
        for signum in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signum, stop.set)
        is_ours = sources.specs == (bundled_specs(),)
        goal = "What is the weather in Oslo tomorrow?" if is_ours else "the goal, in plain words"

        async def start_and_supervise() -> None:
            await stack.__aenter__()
            _draw_addresses(stack, goal, written.memories)
            await Supervisor(stack, _print).run()

        # It runs until Ctrl-C, which may come while it starts.
        keeping, stopped = (
            asyncio.create_task(start_and_supervise()),
            asyncio.create_task(stop.wait()),
        )
        try:
            await asyncio.wait([keeping, stopped], return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                await keeping  # raises what kept it from starting
        finally:
            for task in (keeping, stopped):
                task.cancel()
            await asyncio.wait([keeping, stopped])
            _print("stopping")
            await stack.stop()


def _print(text: str) -> None:
    progress.print(text, soft_wrap=True)
