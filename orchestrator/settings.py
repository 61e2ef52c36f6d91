"""Settings from the environment, read once at the edge and passed on as values."""

import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.messages.mission_policy import MissionPolicy, wait_fault
from orchestrator.planning.models import AgentProfile
from orchestrator.routing.profile import STEP_LIMIT_S, STEP_VECTORS_S, RoutingProfile

if TYPE_CHECKING:  # most processes announce nothing, and call no MCP server
    from orchestrator.adapters.mcp.servers import McpServer
    from orchestrator.adapters.notices.notice_rules import NoticeRules

T = TypeVar("T")

PLANNER_VARIABLE = "ORCHESTRATOR_PLANNER"
MODEL_VARIABLE = "ORCHESTRATOR_PLANNER_MODEL"


def bundled_specs() -> Path:
    """Return the folder of example documents, in a checkout as in an installed package."""
    return (Path(__file__).parent / "specs").resolve()


def _split_at(separator: str) -> BeforeValidator:
    """Reads a text as the elements between separators; what is no text is left as it is."""
    return BeforeValidator(
        lambda v: tuple(filter(None, v.split(separator))) if isinstance(v, str) else v
    )


_Paths = Annotated[tuple[Path, ...], NoDecode, _split_at(os.pathsep)]
_Hosts = Annotated[tuple[str, ...], NoDecode, _split_at(",")]
"""Commas and not colons, for IPv6 addresses are full of them."""
_Names = Annotated[tuple[str, ...], NoDecode, _split_at(",")]

OWN_FOLDER: Final = ".orchestrator"
"""Of an account, below its home: where its state is unless it says otherwise."""


class Settings(BaseSettings):
    """Settings from ORCHESTRATOR_* variables; the Temporal address comes from TEMPORAL_* ones.

    `orchestrator settings` prints all of them, each with its present value and its meaning: the
    text below each field.
    """

    model_config = SettingsConfigDict(
        env_prefix="ORCHESTRATOR_",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    specs: _Paths = Field(default_factory=lambda: (bundled_specs(),))
    """Files and folders of OpenAPI documents, separated by `:` (`;` on Windows); unset, the
    examples."""
    overlays: _Paths = ()
    """OpenAPI Overlay files, in order."""
    mcp: Path | None = None
    """A YAML file of MCP servers (docs/mcp.md)."""
    state_dir: Path = Field(default_factory=lambda: _own_folder())
    """The folder of this machine's state: the store, logs of `dev`."""
    store: SecretStr | None = None
    """URL of the PostgreSQL database of all workers; unset, a SQLite file for one machine."""
    store_file: Path | None = None
    """A file with this URL."""
    task_queue: str = "orchestrator"
    """The Temporal task queue: one per installation, or per tenant with workers of its own."""
    deployment: str | None = Field(default=None, max_length=200)
    """The name of Temporal's worker deployment; unset, the name of the task queue."""
    build_id: str | None = Field(default=None, max_length=200)
    """The build of this worker, for rolling upgrades; unset, it takes any task."""
    server_variables: Annotated[dict[str, dict[str, str]], NoDecode] = Field(
        default_factory=dict, repr=False
    )
    """A JSON object with values for the variables of server URLs, by document."""
    agents: Path | None = None
    """A file with agent profiles; unset, every agent may use every tool."""
    agent_queues: _Names = ()
    """Task queues of agents, separated by commas, that this worker also serves, or none; unset,
    those of all agents."""
    mission_policy: Path | None = None
    """A file with a policy: on a client, of missions that bring none; on a worker, the one that
    missions may only tighten."""
    approval_keys: str | None = Field(default=None, repr=False)
    """A JWK set, as a file or an https URL, that must sign every decision."""
    serve: Path | None = None
    """A YAML file of `orchestrator serve` (docs/serve.md)."""
    observe: bool = False
    """Allow missions and sagas to run observed, not guarded."""
    notices: Path | None = None
    """A file with channels and routes of notices (docs/serve.md)."""
    planner: str | None = None
    """The planner: chaining (by rules), llm (a model), an entry point, or module:factory; unset, a
    model if one is set, else the rules."""
    planner_model: str | None = None
    """provider:model, for agents that name none."""
    split_by: Literal["model", "none"] = "model"
    """`model` splits goals into legs, or none: one leg without orders."""
    planner_timeout_s: float = Field(default=90.0, gt=0, le=280)
    """Time for one request to a model; a step makes at most two."""
    planner_temperature: float | None = Field(default=None, ge=0)
    """The temperature of a model's answers; unset, the provider's."""
    planner_max_tokens: int = Field(default=16_000, ge=1)
    """The most tokens of one answer of a model."""
    planner_thinking: Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a model reasons before it answers; unset, as its provider has it."""
    allowed_private_hosts: _Hosts = ()
    """Hosts, separated by commas, that may have private addresses."""
    only_hosts: _Hosts = ()
    """Hosts, with or without a port, that may be called; unset, all declared ones."""
    proxy: SecretStr | None = None
    """An HTTP proxy for all tool calls; HTTP_PROXY is ignored."""
    max_file_bytes: int = Field(default=10_000_000, ge=0, le=100_000_000)
    """The largest file of an answer that is stored; larger ones are described. 0: none."""
    send_trace: bool = True
    """Send the `traceparent` header with traced calls."""
    log_format: Literal["text", "json"] = "text"
    """The worker's log on standard error: lines of text, or JSON objects."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level that is logged; INFO has a line for each step."""
    sweep_interval: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """Seconds or ISO 8601: the interval of the sweep; 0: no sweep."""
    pii_key: SecretStr | None = None
    """The key of the vault of personal values; unset, a file next to the vault."""
    pii_key_file: Path | None = None
    """A file with this key."""
    pii_retention: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Seconds or ISO 8601: how long personal values, observations and files outlive their
    mission."""
    payload_keys: SecretStr | None = None
    """ID:KEY pairs: the first encrypts everything that Temporal records, each decrypts; unset,
    nothing is encrypted."""
    payload_keys_file: Path | None = None
    """A file with these keys."""
    routing_profile: Path | None = None
    """A file written by `orchestrator route calibrate`; unset, the fitted defaults."""
    routing_timeout_ms: float = Field(default=STEP_LIMIT_S * 1000, gt=0)
    """Time for the routing of a step; after it all tools are forwarded."""
    embedder: str | None = Field(default=None, repr=False)
    """The router's vectors: module:factory, an installed one's name, or none; unset, built-in."""
    embedder_timeout_ms: float = Field(default=STEP_VECTORS_S * 1000, gt=0)
    """Time for a configured embedder; after it, routing goes on without vectors."""
    health: str | None = None
    """HOST:PORT of a worker's /healthz, /readyz and /metrics; unset, none."""
    drain: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(0))
    """Seconds or ISO 8601: time for running activities of a stopping worker. The platform's grace
    period must be longer."""
    max_activities: int = Field(default=100, ge=1)
    """Concurrent activities of a worker process per task queue. Raise it where providers are slow,
    lower it where memory is short."""
    max_workflow_tasks: int = Field(default=100, ge=2)
    """Concurrent workflow tasks of a worker process per task queue."""
    max_cached_workflows: int = Field(default=1000, ge=1)
    """Workflows that a worker process keeps in memory."""
    pollers: Annotated[int, Field(ge=2)] | Literal["auto"] = 5
    """Open poll requests of a worker process per kind of task and task queue; `auto`: by the
    server's backlog. Raise it where the server is far away."""
    activities_per_s: float | None = Field(default=None, gt=0)
    """The most activities that a worker process starts per second; unset, no limit."""
    queue_activities_per_s: float | None = Field(default=None, gt=0)
    """The most activities that all workers of a task queue start per second: for providers with a
    rate limit per account."""

    @property
    def encrypts(self) -> bool:
        """True if payloads recorded in Temporal are encrypted."""
        return self.payload_keys is not None or self.payload_keys_file is not None

    @field_validator("deployment", "build_id", mode="before")
    @classmethod
    def _read_nothing(cls, value: Any) -> Any:
        """An empty text is none: a manifest names the variable, and leaves it open."""
        return value or None

    @field_validator("sweep_interval", "pii_retention", "drain", mode="before")
    @classmethod
    def _read_seconds(cls, value: Any) -> Any:
        """A plain number is seconds, as it is in tool contracts."""
        try:
            return timedelta(seconds=float(value))
        except (TypeError, ValueError, OverflowError):
            return value

    @field_validator("server_variables", mode="before")
    @classmethod
    def _read_json(cls, value: Any) -> Any:
        """Read here and not by the library, so that a mistake names its variable."""
        read = json.loads(value) if isinstance(value, str) else value
        if isinstance(read, dict) and not all(isinstance(one, dict) for one in read.values()):
            raise ValueError('name the document: {"crm": {"port": "9000"}}')
        return read


def _own_folder() -> Path:
    """Where an account keeps its state unless it says so; one with no home has to say so."""
    try:
        return Path.home() / OWN_FOLDER
    except RuntimeError as error:
        raise UsageError(
            "this account has no home folder to keep state in: "
            "set ORCHESTRATOR_STATE_DIR to a folder that it may write to"
        ) from error


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        UsageError: a variable does not hold what it should.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"ORCHESTRATOR_{first['loc'][0]}".upper()
        raise UsageError(f"{name}: {first['msg']}") from error


def load_agents(path: Path | None) -> tuple[AgentProfile, ...]:
    """Return the agent profiles of a YAML or JSON file; none when there is no file.

    The models, tools and planners that they name are not looked up.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
        UsageError: one of the profiles is not written as it should be.
    """
    if path is None:
        return ()
    from orchestrator.planning.profile_faults import read_profiles

    profiles, faults = read_profiles(read_profiles_file(path))
    if faults:
        raise profiles_invalid(path, faults)
    return profiles


def profiles_invalid(path: Path, faults: Sequence[object]) -> UsageError:
    """Return the error for a file of agent profiles with these faults."""
    more = len(faults) - 1
    see = f" ({more} more; see: orchestrator agents check {path})" if more else ""
    return UsageError(f"{path}: {faults[0]}{see}", code="ProfilesInvalid")


def read_profiles_file(path: Path) -> list[Any]:
    """Return the list that a YAML or JSON file of agent profiles holds."""
    return _read(path, TypeAdapter(list[Any]), "a list of agent profiles")


def load_policy(path: Path | None) -> MissionPolicy | None:
    """Return the mission policy of a YAML or JSON file; None when there is no file to read."""
    if path is None:
        return None
    policy = _read(path, TypeAdapter(MissionPolicy), "a mission policy")
    fault = wait_fault(policy)
    if fault:
        raise DocumentUnreadable(str(path), fault)
    return policy


def load_notice_rules(path: Path | None) -> "NoticeRules | None":
    """Return the channels and routes of notices in a YAML or JSON file; None without a file."""
    if path is None:
        return None
    from orchestrator.adapters.notices.notice_rules import NoticeRules

    return _read(path, TypeAdapter(NoticeRules), "a configuration of notices")


def load_mcp_servers(path: Path | None) -> "tuple[McpServer, ...]":
    """Return the MCP servers of a YAML or JSON file; none when there is no file to read.

    Overlays are found from the folder of the file.
    """
    if path is None:
        return ()
    from orchestrator.adapters.mcp.servers import McpServer

    servers = _read(path, TypeAdapter(tuple[McpServer, ...]), "a list of MCP servers")
    folder = path.absolute().parent
    return tuple(
        one.model_copy(update={"overlay": folder / one.overlay}) if one.overlay else one
        for one in servers
    )


def load_routing_profile(path: Path | None) -> RoutingProfile | None:
    """Return the routing profile of a JSON file; None when there is no file to read."""
    return None if path is None else _read(path, TypeAdapter(RoutingProfile), "a routing profile")


def _read(path: Path, kind: TypeAdapter[T], name: str) -> T:
    """Return the validated content of a YAML or JSON file.

    A key that is not known is refused too: mistyped, a rule on who may decide would silently hold
    for nobody. So is one that is there twice: one of the two walls, or rules, would not hold.
    """
    from orchestrator.catalog.yaml12 import load_yaml

    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
        return kind.validate_python(content, extra="forbid")
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"]) or name
        said = f": {fault['msg'].removeprefix('Value error, ')}"
        if fault["type"] == "extra_forbidden":
            said = f" is no part of {name}"
        raise DocumentUnreadable(str(path), f"{place}{said}") from error
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DocumentUnreadable(str(path), f"{reason}; it should be {name}") from error
