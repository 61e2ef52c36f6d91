"""`orchestrator codec-server`: the Web UI and the `temporal` command see what is encrypted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import listen_address
from orchestrator.cli.output import progress
from orchestrator.core.errors import UsageError
from orchestrator.core.payload_errors import KEYS_VARIABLE, PayloadKeysInvalid
from orchestrator.runtime.codec_token import TOKEN_VARIABLE, read_codec_token
from orchestrator.settings import load_settings

if TYPE_CHECKING:
    from orchestrator.codec_server.callers import Callers

app = typer.Typer(add_completion=False)
_UI = ("http://127.0.0.1:8233", "http://localhost:8233")


@app.command()
def codec_server(
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = (
        "127.0.0.1:8081"
    ),
    ui: Annotated[
        list[str] | None,
        typer.Option(help="Origin of a Temporal Web UI that may ask. [default: that of dev]"),
    ] = None,
    jwks: Annotated[
        str | None,
        typer.Option(help="File or https URL of the keys that sign the UI's access tokens."),
    ] = None,
    audience: Annotated[str, typer.Option(help="Whom access tokens have to be for.")] = "",
    issuer: Annotated[str, typer.Option(help="Who has to have issued them.")] = "",
    tls_cert: Annotated[
        Path | None, typer.Option(help="PEM file with its certificate: https, as browsers ask.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file with the certificate's key.")] = (
        None
    ),
) -> None:
    """Decrypt histories for the Temporal UI and the temporal command.

    Callers present ORCHESTRATOR_CODEC_TOKEN (or ..._FILE=path), or an access token.

    Example: orchestrator codec-server --ui https://temporal.example.com
    """
    from orchestrator.adapters.temporal.payload_codec import EncryptionCodec
    from orchestrator.client.payloads import external_storage_of, payload_keys_of
    from orchestrator.codec_server.codec_app import create_codec_app
    from orchestrator.codec_server.serving import serve
    from orchestrator.runtime.worker_logs import log_lines

    settings = load_settings()
    keys = payload_keys_of(settings)
    if not keys.ids:
        raise PayloadKeysInvalid(KEYS_VARIABLE, "it holds no key, so there is nothing to open")
    host, port = listen_address(listen)
    origins = tuple(origin.rstrip("/") for origin in ui or _UI)
    serving = create_codec_app(
        EncryptionCodec(keys),
        _callers(origins, jwks, audience, issuer),
        origins=origins,
        storage=external_storage_of(settings),
        is_tls=tls_cert is not None,
    )
    log_lines(settings.log_format, settings.log_level)
    try:
        serve(
            serving,
            host,
            port,
            ready=lambda url: progress.print(f"codec server answers at {url}/{{namespace}}"),
            certificate=tls_cert,
            private_key=tls_key,
        )
    except OSError as error:
        raise UsageError(f"cannot serve on {listen}: {error.strerror or error}") from error


def _callers(origins: tuple[str, ...], jwks: str | None, audience: str, issuer: str) -> "Callers":
    """Who may ask; nobody is no answer."""
    from orchestrator.codec_server.access_tokens import AccessTokens
    from orchestrator.codec_server.callers import Callers

    token = read_codec_token()
    if not token and jwks is None:
        raise UsageError(
            f"{TOKEN_VARIABLE} is not set, and nobody may read payloads unproved: set it to a long "
            "random text, or name the keys of access tokens by --jwks"
        )
    tokens = None if jwks is None else AccessTokens(jwks, audience=audience, issuer=issuer)
    return Callers(token=token, access_tokens=tokens, origins=origins)
