"""An installation with approval keys, the issuer, and the service that people sign in at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.adapters.storage.store import Store
from orchestrator.client.mission_client import MissionClient
from orchestrator.confirmation.models import Approve
from orchestrator.confirmation.signatures import SigningKey
from orchestrator.core.errors import OrchestratorError
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from orchestrator.web import actions
from orchestrator.web.config import ServeConfig
from orchestrator.web.problem_details import ProblemError, on_problem
from orchestrator.web.sign_in.door import with_sign_in
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service
from tests.forked import ForkedStack
from tests.integration.web_sign_in.browsers import Browser, Issuer, served

SECRETS = {"serve__session_key": "k" * 40, "serve__client": "planted-client-secret-1f2e"}
POLICY = """
confirmation:
  approvers:
    - {tools: [weather_*], approvers: ["group:finance"]}
    - {tools: [message_*], approvers: ["*@example.com"], max_age: PT5M}
"""
ROLES = [
    {"group": "finance", "roles": ["approver"], "sees": "all"},
    {"group": "admins", "roles": ["admin"], "sees": "all"},
    {"person": "*@example.com", "roles": ["requester", "approver"]},
    {"person": "machine-*", "roles": ["requester"]},
]


class Values:
    """Secrets of a test, in place of the environment."""

    def __init__(self, **changes: str) -> None:
        self._values = {**SECRETS, **changes}

    def get(self, name: str) -> str:
        return self._values[name]


@dataclass
class Clock:
    """A clock that tests set ahead."""

    ahead: timedelta = field(default=timedelta(0))

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture(scope="package")
async def issuer() -> AsyncIterator[Issuer]:
    async with Issuer() as running:
        yield running


@pytest.fixture(scope="package")
def key_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The signing key of the service, and the key set and policy of the worker."""
    made = tmp_path_factory.mktemp("keys")
    private, public = SigningKey.generate(issuer="", subject="")
    (made / "service.jwk").write_text(json.dumps(private))
    (made / "jwks.json").write_text(json.dumps({"keys": [public]}))
    (made / "policy.yaml").write_text(POLICY)
    return made


@pytest.fixture(scope="package")
async def governed(
    key_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """An installation whose worker accepts decisions of the service alone."""
    installation = ForkedStack(
        tmp_path_factory.mktemp("governed"),
        (bundled_specs(),),
        Ports.free(),
        variables={"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"},
    )
    worker = installation.start_worker
    operators = {
        "ORCHESTRATOR_APPROVAL_KEYS": str(key_folder / "jwks.json"),
        "ORCHESTRATOR_MISSION_POLICY": str(key_folder / "policy.yaml"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installation, "start_worker", lambda: worker(variables=operators))
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture(scope="package")
async def missions(governed: Stack) -> MissionClient:
    return await governed.client()


@pytest.fixture(scope="package")
def store(governed: Stack) -> Store:
    return Store(governed.settings.state_dir)


@pytest.fixture(scope="package")
def clock() -> Clock:
    return Clock()


MakeApp = Callable[..., Callable[[str], Starlette]]


@pytest.fixture(scope="package")
def app_at(
    governed: Stack,
    missions: MissionClient,
    store: Store,
    issuer: Issuer,
    key_folder: Path,
    clock: Clock,
) -> MakeApp:
    """Makes the service for its address; `changes` are to its configuration and its secrets."""

    def configured(secrets: Values | None = None, **changes: Any) -> Callable[[str], Starlette]:
        def at(url: str) -> Starlette:
            config = ServeConfig.model_validate(
                {
                    "url": url,
                    "sign_in": {
                        "issuer": issuer.url,
                        "client_id": "missions",
                        "client_secret": "serve__client",
                    },
                    "machines": [{"issuer": issuer.url, "audience": "missions-api"}],
                    "roles": ROLES,
                    "signing_key": str(key_folder / "service.jwk"),
                    **changes,
                }
            )
            sign_in = with_sign_in(
                config, governed.settings, store, secret_store=secrets or Values(), now=clock
            )
            service = Service(
                client=missions,
                settings=governed.settings,
                identify=sign_in.identify,
                signer=sign_in.signer,
                url=sign_in.url,
                store=store,
                door=sign_in.door,
            )
            return with_decisions(create_app(service), service)

        return at

    return configured


def with_decisions(app: Starlette, service: Service) -> Starlette:
    """Add a page that approves a card, by a form and by JSON, as those of the inbox do."""

    async def decide(request: Request) -> Response:
        sent: Any = await request.form() if "form" in _kind(request) else await request.json()
        try:
            person = await service.identify(request)
            if person is None:
                return JSONResponse({}, 401)
            approve = Approve(confirmation_id=sent["card"], digest=sent["digest"])
            await actions.decide(service, person, approve)
        except (ProblemError, OrchestratorError) as error:
            return await on_problem(request, error)
        return JSONResponse({"approved_as": person.subject})

    async def who(request: Request) -> Response:
        try:
            person = await service.identify(request)
        except ProblemError as error:
            return await on_problem(request, error)
        return JSONResponse(None if person is None else person.model_dump(mode="json"))

    app.router.routes += [Route("/decide", decide, methods=["POST"]), Route("/who", who)]
    return app


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "")


@pytest.fixture(scope="package")
async def url(app_at: MakeApp) -> AsyncIterator[str]:
    """The address of the service."""
    async with served(app_at()) as address:
        yield address


@pytest.fixture
async def browser(url: str, clock: Clock) -> AsyncIterator[Browser]:
    """A browser that nobody has used yet."""
    async with Browser(url) as opened:
        yield opened
    clock.ahead = timedelta(0)
