"""The door of the service: how requests are checked and identified, with sign-in or without."""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from orchestrator.adapters.access_tokens import AccessTokens
from orchestrator.adapters.approval_keys import load_signing_key
from orchestrator.adapters.secrets import EnvironmentSecrets, SecretStore
from orchestrator.adapters.storage.files import create_file, private_folder
from orchestrator.core.errors import SecretMissing, UsageError
from orchestrator.core.secret_names import variable_of
from orchestrator.settings import Settings
from orchestrator.web.config import MachineConfig, ServeConfig
from orchestrator.web.people import Person, Role
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sign_in.csrf import LOOPBACK, CsrfProtection, has_bearer
from orchestrator.web.sign_in.hosts import KnownHosts
from orchestrator.web.sign_in.identity import (
    BearerTokens,
    Clock,
    SessionCookies,
    SignedIn,
    session_id_of,
    utc_now,
)
from orchestrator.web.sign_in.issuer import Issuer, Metadata
from orchestrator.web.sign_in.routes import SignInPages
from orchestrator.web.sign_in.session_cookies import Sessions
from orchestrator.web.sign_in.signing import LocalSigner, ServiceSigner
from orchestrator.web.web_service import DecisionSigner, Door, Identify

if TYPE_CHECKING:  # imports a database library
    from orchestrator.adapters.storage.store import Store


@dataclass(frozen=True)
class SignIn:
    """The parts of a `Service` that depend on how people are identified."""

    identify: Identify
    door: Door
    signer: DecisionSigner | None = None
    url: str = ""


def with_sign_in(
    config: ServeConfig,
    settings: Settings,
    store: "Store",
    *,
    secret_store: SecretStore | None = None,
    now: Clock = utc_now,
) -> SignIn:
    """Return the door of a service that people sign in at; UsageError: a key cannot be used."""
    values = secret_store or EnvironmentSecrets()
    proxy = None if settings.proxy is None else settings.proxy.get_secret_value()
    sessions = Sessions(
        session_keys(config, settings, store, values),
        lifetime=config.session.lifetime,
        idle=config.session.idle,
        is_https=config.url.startswith("https://"),
    )
    if config.sign_in.client_secret is not None:
        try:
            values.get(config.sign_in.client_secret)
        except SecretMissing as error:
            raise UsageError(f"sign_in/client_secret: {error}") from error
    metadata = Metadata(config.sign_in.issuer, proxy=proxy)
    issuer = Issuer(config.sign_in, metadata, url=config.url, secrets=values, key=sessions.key)
    bearer = bearer_tokens(config, settings, store, now=now)
    pages = SignInPages(
        config, issuer=issuer, sessions=sessions, sign_outs=store.sign_outs, now=now
    )
    guards = [
        *([Middleware(ProxyHeadersMiddleware, list(config.proxies))] if config.proxies else []),
        Middleware(KnownHosts, url=config.url),
        Middleware(SessionCookies, sessions=sessions, now=now),
        Middleware(
            CsrfProtection, secret=sessions.key, session_of=session_id_of, origin=config.url
        ),
    ]
    key = config.signing_key
    return SignIn(
        identify=SignedIn(config, bearer, store.sign_outs),
        door=Door(middleware=guards, routes=pages.routes),
        signer=None if key is None else ServiceSigner(load_signing_key(key), url=config.url),
        url=config.url,
    )


def bearer_tokens(
    config: ServeConfig, settings: Settings, store: "Store", *, now: Clock = utc_now
) -> BearerTokens:
    """Return the proof by API tokens, and by access tokens of the configured issuers."""
    proxy = None if settings.proxy is None else settings.proxy.get_secret_value()
    machines = [(one, _access_tokens(one, proxy)) for one in config.machines]
    return BearerTokens(store.api_tokens, machines=machines, config=config, now=now)


def without_sign_in(
    subject: str, store: "Store", *, key_file: Path | None = None, now: Clock = utc_now
) -> SignIn:
    """Return the door of a service on loopback: who reaches it is its one user.

    API tokens are accepted here too. A key file, which has to be the user's, signs decisions.
    """
    person, bearer = local_person(subject), BearerTokens(store.api_tokens, now=now)

    async def identify(connection: HTTPConnection) -> Person | None:
        return await bearer.person_of(connection) if has_bearer(connection) else person

    guards = [
        Middleware(KnownHosts),
        Middleware(CsrfProtection, secret=secrets.token_bytes(32), session_of=lambda _: LOOPBACK),
    ]
    signer = None if key_file is None else LocalSigner(load_signing_key(key_file), subject=subject)
    return SignIn(identify=identify, door=Door(middleware=guards), signer=signer)


def session_keys(
    config: ServeConfig, settings: Settings, store: "Store", values: SecretStore
) -> list[str]:
    """Return the keys of sessions: of a secret, or else of a file if no other machine serves."""
    name = config.session.key
    try:
        return values.get(name).split()
    except SecretMissing:
        if not store.is_file:
            raise UsageError(
                "each process that serves needs the same key for sessions: set "
                f"{variable_of(name)} to a random text of 64 characters, or {variable_of(name)}"
                "_FILE to a file that holds it"
            ) from None
    path = private_folder(settings.state_dir) / "serve_session.key"
    create_file(path, secrets.token_urlsafe(48).encode())
    return path.read_text(encoding="ascii").split()


def _access_tokens(machine: MachineConfig, proxy: str | None) -> AccessTokens:
    metadata = Metadata(machine.issuer, proxy=proxy)

    async def fetch(_: str) -> bytes:
        try:
            return await metadata.keys()
        except ProblemError as problem:
            raise OSError(str(problem)) from problem  # the previous keys are used meanwhile

    return AccessTokens(
        machine.issuer, audience=machine.audience, issuer=machine.issuer, fetch=fetch
    )


def local_person(subject: str) -> Person:
    """Return the one user of this machine, who may do all."""
    return Person(subject=subject, roles=(Role.ADMIN,), sees_all=True, proved_by="loopback")


def local_user(subject: str) -> Identify:
    """Return an identification that takes each request as that of one user, who may do all."""
    person = local_person(subject)

    async def identify(_: HTTPConnection) -> Person | None:
        return person

    return identify
