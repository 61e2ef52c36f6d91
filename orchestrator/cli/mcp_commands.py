"""`orchestrator mcp ...`: missions and guarded tools for MCP clients."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import new_app
from orchestrator.cli.output import progress, run
from orchestrator.cli.service_commands import note_doubtful_settings
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.settings import Settings
    from orchestrator.web.config import ServeConfig

app = new_app()
_INBOX = "http://127.0.0.1:8600"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@app.callback()
def mcp() -> None:
    """Missions and guarded tools for MCP clients."""


@app.command()
def serve(
    http: Annotated[
        str | None,
        typer.Option(help="PORT or HOST:PORT for streamable HTTP; default: standard streams."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file of `serve`: issuers, roles, the inbox's address."),
    ] = None,
    local_user: Annotated[
        str | None,
        typer.Option(help="The user of this machine, without tokens; HTTP on loopback only."),
    ] = None,
    inbox: Annotated[
        str | None,
        typer.Option(help=f"Where people decide; default: url of the file, else {_INBOX}."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="How clients reach the server over HTTP; default: url of the file."),
    ] = None,
) -> None:
    """Serve missions to MCP clients, on standard input and output or over HTTP.

    No model approves: cards are decided in the inbox, which `orchestrator serve` serves.

    Example: orchestrator mcp serve --local-user ana@example.com

    Example: orchestrator mcp serve --http 0.0.0.0:8601 --config serve.yaml
    """
    from orchestrator.proxy.server import read_address
    from orchestrator.settings import load_settings
    from orchestrator.web.config import read_serve_config

    _check_extra()
    settings = load_settings()
    named = config or settings.serve
    people = None if local_user is not None or named is None else read_serve_config(named)
    _check_people(http, people, local_user, config)
    note_doubtful_settings(settings)
    page = (inbox or (people.url if people is not None else _INBOX)).rstrip("/")
    if http is None:
        run(_serve_stdio(settings, str(local_user), page))
        return
    host, port = read_address(http if ":" in http else f"127.0.0.1:{http}")
    if people is None and host not in _LOOPBACK:
        raise UsageError(f"--local-user serves on loopback only, and {host} is not: give --config")
    try:
        run(
            _serve_http(settings, host, port, people, local_user, page, (url or "").rstrip("/")),
            is_service=True,
        )
    except OSError as error:
        raise UsageError(f"cannot serve on {http}: {error.strerror or error}") from error


def _check_extra() -> None:
    try:
        import mcp.server.lowlevel  # noqa: F401  # an extra
    except ModuleNotFoundError as missing:
        raise UsageError(
            "the MCP SDK is not installed: pip install 'orchestrator-missions[mcp]'"
        ) from missing


def _check_people(
    http: str | None, people: "ServeConfig | None", local_user: str | None, config: Path | None
) -> None:
    """Refuse a server whose callers nobody names.

    Raises:
        UsageError: says what to give.
    """
    if local_user is not None and config is not None:
        raise UsageError("--local-user serves without tokens, and --config with them: choose one")
    if http is None and local_user is None:
        raise UsageError(
            "on standard streams the caller is the user of this machine: give --local-user NAME"
        )
    if local_user is None and people is None:
        raise UsageError(
            "nobody can send a token: give --config FILE (docs/serve.md), or on "
            "your own machine --local-user NAME"
        )
    if people is not None and not people.machines:
        raise UsageError(
            "the file lists no `machines`: name the issuer and the audience of the "
            "access tokens that MCP clients bring (docs/mcp.md)"
        )


async def _serve_stdio(settings: "Settings", user: str, inbox: str) -> None:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.mcp.mcp_transports import serve_stdio
    from orchestrator.web.sign_in.door import local_user
    from orchestrator.web.web_service import Service

    client = await MissionClient.connect(settings)
    service = Service(client=client, settings=settings, identify=local_user(user))
    await serve_stdio(service, user, inbox=inbox)


async def _serve_http(
    settings: "Settings",
    host: str,
    port: int,
    people: "ServeConfig | None",
    user: str | None,
    inbox: str,
    url: str,
) -> None:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.stores import store_of
    from orchestrator.mcp.mcp_transports import PATH, ProtectedResource, mcp_app
    from orchestrator.proxy.server import serving
    from orchestrator.runtime.process_telemetry import process_telemetry
    from orchestrator.web.sign_in.door import bearer_tokens, without_sign_in
    from orchestrator.web.sign_in.identity import token_bearer
    from orchestrator.web.web_service import Service

    async with (
        store_of(settings) as store,
        process_telemetry("orchestrator-mcp", serves_metrics=True) as telemetry,
    ):
        resource = None
        if people is not None:
            identify = token_bearer(bearer_tokens(people, settings, store))
            issuers = list(dict.fromkeys(one.issuer for one in people.machines))
            resource = ProtectedResource(url or people.url, issuers)
        else:
            identify = without_sign_in(str(user), store).identify
        service = Service(
            client=await MissionClient.connect(settings),
            settings=settings,
            identify=identify,
            url=resource.url if resource is not None else "",
            store=store,
            metrics_text=telemetry.metrics_text,
        )
        app = mcp_app(
            service,
            inbox=inbox,
            resource=resource,
            proxies=people.proxies if people is not None else (),
        )
        await serving(app, host, port, ready=lambda at: progress.print(f"MCP at {url or at}{PATH}"))
