"""`orchestrator serve`: the HTTP API and the inbox, until stopped."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import new_app
from orchestrator.cli.output import progress, run
from orchestrator.cli.service_commands import note_doubtful_settings
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.adapters.storage.store import Store
    from orchestrator.settings import Settings
    from orchestrator.web.config import ServeConfig
    from orchestrator.web.notices.slack_interactions import SlackDoor
    from orchestrator.web.sign_in.door import SignIn

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
        typer.Option(help="Without sign-in, on loopback only: requests are this person's."),
    ] = None,
    local_key: Annotated[
        Path | None,
        typer.Option(help="Private key of the local user, where decisions are signed."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file with its certificate: serve https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file with the certificate's key.")] = (
        None
    ),
) -> None:
    """The HTTP API and the inbox, for people and programs.

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
    _check_address(host, people, local_user)
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


def _check_address(host: str, people: "ServeConfig | None", local_user: str | None) -> None:
    """Refuse to let others than the local user in without sign-in.

    Raises:
        UsageError: says what to give.
    """
    if people is not None:
        return
    if local_user is None:
        raise UsageError(
            "nobody can sign in: give --config FILE (docs/serve.md), or on your own machine "
            "--local-user NAME"
        )
    if host not in _LOOPBACK:
        raise UsageError(
            f"--local-user serves on loopback only, and {host} is not: let people sign in "
            "(--config FILE)"
        )


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
    from orchestrator.web.web_app import create_app
    from orchestrator.web.web_service import Service

    import_module("orchestrator.workflows")  # or the first page waits for it
    async with (
        store_of(settings) as store,
        process_telemetry("orchestrator-serve", serves_metrics=True) as telemetry,
    ):
        sign_in = _sign_in(settings, store, people, local_user, local_key)
        service = Service(
            client=await MissionClient.connect(settings),
            settings=settings,
            identify=sign_in.identify,
            signer=sign_in.signer,
            url=sign_in.url,
            store=store,
            door=sign_in.door,
            slack=_slack(settings, people),
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


def _slack(settings: "Settings", people: "ServeConfig | None") -> "SlackDoor | None":
    """Return the interactions of Slack; None where nothing configures them, or nobody signs in."""
    if settings.notices is None or people is None:
        return None
    from orchestrator.web.notices.slack_interactions import door_of

    return door_of(settings, people.standing_of)


def _sign_in(
    settings: "Settings",
    store: "Store",
    people: "ServeConfig | None",
    local_user: str | None,
    local_key: Path | None,
) -> "SignIn":
    from orchestrator.web.sign_in.door import with_sign_in, without_sign_in

    if people is not None:
        return with_sign_in(people, settings, store)
    return without_sign_in(str(local_user), store, key_file=local_key)
