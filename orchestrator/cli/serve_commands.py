"""`orchestrator serve` and `mcp serve`: doors for people, programs and MCP clients."""

from importlib import import_module
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
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@app.command()
def serve(
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = (
        "127.0.0.1:8600"
    ),
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with sign-in and roles, in place of ORCHESTRATOR_SERVE."),
    ] = None,
    local_user: Annotated[
        str | None,
        typer.Option(help="The person of all requests, without sign-in and on loopback only."),
    ] = None,
    local_key: Annotated[
        Path | None, typer.Option(help="Private key of the local user, where decisions are signed.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file with its certificate: serve https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file with the certificate's key.")] = (
        None
    ),
) -> None:
    """Serve the HTTP API and the inbox.

    It runs until SIGTERM; several may run at once. Beyond loopback, people sign in.

    Example: orchestrator serve --local-user ana@example.com

    Example: orchestrator serve --config serve.yaml --listen 0.0.0.0:8600
    """
    from orchestrator.proxy.server import read_address
    from orchestrator.runtime.worker_logs import log_lines
    from orchestrator.settings import load_settings
    from orchestrator.web.config import read_serve_config

    host, port = read_address(listen)
    settings = load_settings()
    named = config or settings.serve
    if local_user is not None and config is not None:
        raise UsageError("--local-user serves without sign-in, and --config with it: choose one")
    people = None if local_user is not None or named is None else read_serve_config(named)
    if people is None and local_user is None:
        raise UsageError(
            "nobody can sign in: give --config FILE (docs/serve.md), or on your own machine "
            "--local-user NAME"
        )
    if people is None and host not in _LOOPBACK:
        raise UsageError(
            f"--local-user serves on loopback only, and {host} is not: let people sign in "
            "(--config FILE)"
        )
    if local_key is not None and local_user is None:
        raise UsageError("--local-key is the key of --local-user; with sign-in: signing_key")
    note_doubtful_settings(settings)
    log_lines(settings.log_format, settings.log_level)
    try:
        run(
            _serve(settings, host, port, people, local_user, local_key, tls_cert, tls_key),
            is_service=True,
        )
    except OSError as error:
        raise UsageError(f"cannot serve on {listen}: {error.strerror or error}") from error


async def _serve(
    settings: "Settings",
    host: str,
    port: int,
    people: "ServeConfig | None",
    local_user: str | None,
    local_key: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> None:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.stores import store_of
    from orchestrator.proxy.server import serving
    from orchestrator.runtime.process_telemetry import process_telemetry
    from orchestrator.web.sign_in.door import with_sign_in, without_sign_in
    from orchestrator.web.web_app import create_app
    from orchestrator.web.web_service import Service

    import_module("orchestrator.workflows")  # or the first page waits for it
    async with (
        store_of(settings) as store,
        process_telemetry("orchestrator-serve", serves_metrics=True) as telemetry,
    ):
        slack = None
        if people is None:
            sign_in = without_sign_in(str(local_user), store, key_file=local_key)
        else:
            sign_in = with_sign_in(people, settings, store)
            if settings.notices is not None:
                from orchestrator.web.notices.slack_interactions import door_of

                slack = door_of(settings, people.standing_of)
        service = Service(
            client=await MissionClient.connect(settings),
            settings=settings,
            identify=sign_in.identify,
            signer=sign_in.signer,
            url=sign_in.url,
            store=store,
            door=sign_in.door,
            slack=slack,
            metrics_text=telemetry.metrics_text,
        )
        await serving(
            create_app(service),
            host,
            port,
            ready=lambda url: progress.print(f"inbox at {sign_in.url or url}"),
            certificate=tls_cert,
            private_key=tls_key,
        )


mcp_app = new_app()
_INBOX = "http://127.0.0.1:8600"


@mcp_app.callback()
def mcp() -> None:
    """Serve missions and guarded tools to MCP clients."""


@mcp_app.command("serve")
def serve_mcp(
    http: Annotated[
        str | None,
        typer.Option(help="PORT or HOST:PORT for streamable HTTP; default: standard streams."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of `serve`: issuers, roles, the inbox's address.")
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
        typer.Option(help="The URL by which clients reach the server; default: url of the file."),
    ] = None,
) -> None:
    """Serve missions to MCP clients, on stdio or over HTTP.

    No model approves: cards are decided in the inbox, which `orchestrator serve` serves.

    Example: orchestrator mcp serve --local-user ana@example.com

    Example: orchestrator mcp serve --http 0.0.0.0:8601 --config serve.yaml
    """
    from orchestrator.proxy.server import read_address
    from orchestrator.settings import load_settings
    from orchestrator.web.config import read_serve_config

    try:
        import mcp.server.lowlevel  # noqa: F401  # an extra
    except ModuleNotFoundError as missing:
        raise UsageError(
            "the MCP SDK is not installed: pip install 'orchestrator-missions[mcp]'"
        ) from missing
    settings = load_settings()
    named = config or settings.serve
    people = None if local_user is not None or named is None else read_serve_config(named)
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
    note_doubtful_settings(settings)
    page = (inbox or (people.url if people is not None else _INBOX)).rstrip("/")
    if http is None:
        user = str(local_user)

        async def serve_here() -> None:
            from orchestrator.client.mission_client import MissionClient
            from orchestrator.mcp.mcp_transports import serve_stdio
            from orchestrator.web.sign_in import door
            from orchestrator.web.web_service import Service

            client = await MissionClient.connect(settings)
            identify = door.local_user(user)
            service = Service(client=client, settings=settings, identify=identify)
            await serve_stdio(service, user, inbox=page)

        return run(serve_here())
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
