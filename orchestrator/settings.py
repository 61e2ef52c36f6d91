"""Settings from the environment, read once at the edge and passed on as values."""

import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

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
    """Files and folders of OpenAPI documents, separated by the system's path separator; unset, the
    example documents of the package."""
    overlays: _Paths = ()
    """OpenAPI Overlay files, separated likewise and applied in this order."""
    state_dir: Path = Field(default_factory=lambda: _own_folder())
    """The folder for the state of one machine: the store (unless it is elsewhere), logs of
    `dev`."""
    store: SecretStr | None = None
    """URL of the PostgreSQL database that all workers share; unset, a SQLite file in the state
    directory, for one machine."""
    store_file: Path | None = None
    """A file with this URL, so that no environment shows the password."""
    task_queue: str = "orchestrator"
    """The Temporal task queue of clients and workers: one per installation, or per tenant that has
    its own workers."""
    deployment: str | None = Field(default=None, max_length=200)
    """The name of Temporal's worker deployment, the same for all workers of a task queue;
    unset, the name of the task queue."""
    build_id: str | None = Field(default=None, max_length=200)
    """The build of this worker's code, for rolling upgrades: a mission stays with the build on
    which it started, and new ones go to the current build. Unset, workers take any task."""
    server_variables: Annotated[dict[str, dict[str, str]], NoDecode] = Field(
        default_factory=dict, repr=False
    )
    """A JSON object with values for the variables of server URLs, by document."""
    agents: Path | None = None
    """A YAML or JSON file with a list of agent profiles; unset, every agent may use every tool."""
    agent_queues: _Names = ()
    """Task queues of agents, separated by commas, that this worker serves in addition to its own,
    or none; unset, those of all agents in its file of profiles."""
    mission_policy: Path | None = None
    """A YAML or JSON file. On a client: the policy of missions that bring none. On a worker: the
    policy that missions may only tighten."""
    approval_keys: str | None = Field(default=None, repr=False)
    """A JWK set, as a file or an https URL: every decision has to be signed by one of its keys."""
    observe: bool = False
    """Let missions and sagas that ask for it run observed and not guarded: nobody is asked, no
    budget stops a call, and nothing is rolled back. Unset, a worker refuses them."""
    planner: str | None = None
    """Who plans: chaining (by rules), llm (a model), an entry point, or module:factory of your own;
    unset, a model where one is set, else the rules."""
    planner_model: str | None = None
    """provider:model, for agents that name none; its key is read as its provider reads it; unset,
    no model plans."""
    split_by: Literal["model", "none"] = "model"
    """Who splits goals into legs where a model plans; none: one leg without orders has it all."""
    planner_timeout_s: float = Field(default=90.0, gt=0, le=280)
    """How long one request to a model may take, all in all; a step asks at most twice."""
    planner_temperature: float | None = Field(default=None, ge=0)
    """Of a model's answers; unset, as its provider has it."""
    planner_max_tokens: int = Field(default=16_000, ge=1)
    """Of one answer of a model; more than it writes in the time of a request."""
    planner_thinking: Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a model reasons before it answers, where it can; None: as its provider has it."""
    allowed_private_hosts: _Hosts = ()
    """Hosts of tools, separated by commas and as in their URLs, that may be called at addresses
    which are not public."""
    only_hosts: _Hosts = ()
    """Hosts, with or without a port, to which calls are limited; unset, all that are declared."""
    proxy: SecretStr | None = None
    """An HTTP proxy for all tool calls; HTTP_PROXY is ignored, because a proxy sees every call."""
    max_file_bytes: int = Field(default=10_000_000, ge=0, le=100_000_000)
    """The largest file of an answer that is stored; larger ones are only described. 0: store
    none."""
    send_trace: bool = True
    """Send the `traceparent` header with traced calls, so that providers can join the trace."""
    log_format: Literal["text", "json"] = "text"
    """The format of the worker's log on standard error: lines of text, or one JSON object per
    line."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level that is logged; INFO has a line for each step."""
    sweep_interval: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """Seconds or ISO 8601: the interval of the sweep for missions that were stopped from
    outside; 0: no sweep."""
    pii_key: SecretStr | None = None
    """The key of the vault of personal values; unset, a file next to the vault."""
    pii_key_file: Path | None = None
    """A file with this key."""
    pii_retention: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Seconds or ISO 8601: how long personal values and observations of a mission are kept
    after its end."""
    keep_results: timedelta = Field(default=timedelta(days=90), ge=timedelta(0))
    """Seconds or ISO 8601: how long results stay in the store after the end of their missions,
    independent of Temporal's retention; 0: they are not stored."""
    payload_keys: SecretStr | None = None
    """ID:KEY pairs: the first key encrypts everything that Temporal records, each decrypts. Unset,
    nothing is encrypted."""
    payload_keys_file: Path | None = None
    """A file with these keys."""
    payload_store: str | None = Field(default=None, repr=False)
    """The place of payloads larger than PAYLOAD_STORE_OVER: `store` (the workers' store), a folder
    that all workers and clients share, or module:factory of an SDK storage driver. With several,
    separated by commas, the first is written and all are read. Unset, Temporal records them."""
    payload_store_over: int = Field(default=262_144, ge=1_000)
    """The size in bytes above which a payload goes to the payload store; the server's limit is
    2 MB."""
    routing_profile: Path | None = None
    """A file written by `orchestrator route calibrate`; unset, the fitted defaults."""
    routing_timeout_ms: float = Field(default=STEP_LIMIT_S * 1000, gt=0)
    """The time that a step waits for its routing; after it all tools are forwarded."""
    embedder: str | None = Field(default=None, repr=False)
    """The router's vectors: local:MODEL, https://HOST/v1#MODEL, module:factory, or none; unset, the
    built-in ones."""
    embedder_timeout_ms: float = Field(default=STEP_VECTORS_S * 1000, gt=0)
    """The time that routing waits for a configured embedder; after it vectors are left out."""
    health: str | None = None
    """HOST:PORT where a worker serves /healthz, /readyz and /metrics, without a password. In a
    container 0.0.0.0:8080, unpublished. Unset, nowhere."""
    drain: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(0))
    """Seconds or ISO 8601: the time that a stopping worker gives to running activities. A call
    takes up to 20 s unless a policy says otherwise, and the outcome of a call that is cut is
    unknown. The platform's grace period (stop_grace_period, terminationGracePeriodSeconds) must
    be longer."""
    max_activities: int = Field(default=100, ge=1)
    """Concurrent activities of a worker process per task queue. They mostly wait for providers and
    models: raise it where these are slow, lower it where memory is short (an answer may be
    1 MB)."""
    max_workflow_tasks: int = Field(default=100, ge=2)
    """Concurrent workflow tasks of a worker process per task queue; each computes for
    milliseconds."""
    max_cached_workflows: int = Field(default=1000, ge=1)
    """Workflows that a worker process keeps in memory; others are replayed from their history when
    they continue."""
    pollers: Annotated[int, Field(ge=2)] | Literal["auto"] = 5
    """Open poll requests of a worker process per kind of task and task queue; `auto`: as many
    as the server's backlog suggests. Raise it where the server is far away (one round trip per
    task)."""
    activities_per_s: float | None = Field(default=None, gt=0)
    """The most activities that one worker process starts per second; unset, no limit."""
    queue_activities_per_s: float | None = Field(default=None, gt=0)
    """The most activities that all workers of a task queue start per second, enforced by the
    server: for providers with a rate limit per account."""

    @property
    def encrypts(self) -> bool:
        """True if payloads recorded in Temporal are encrypted."""
        return self.payload_keys is not None or self.payload_keys_file is not None

    @field_validator("deployment", "build_id", mode="before")
    @classmethod
    def _read_nothing(cls, value: Any) -> Any:
        """An empty text is none: a manifest names the variable, and leaves it open."""
        return value or None

    @field_validator("sweep_interval", "pii_retention", "keep_results", "drain", mode="before")
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
    """The agent profiles of a YAML or JSON file; none when there is no file.

    What they name is not looked up: `orchestrator.runtime.agent_profiles` does that, with a
    catalog.

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
    """The list that a YAML or JSON file of agent profiles holds.

    Raises:
        DocumentUnreadable: the file is missing, or is no list.
    """
    return _read(path, TypeAdapter(list[Any]), "a list of agent profiles")


def load_policy(path: Path | None) -> MissionPolicy | None:
    """The mission policy of a YAML or JSON file; None when there is no file to read.

    Raises:
        DocumentUnreadable: the file is missing, or not a policy.
    """
    if path is None:
        return None
    policy = _read(path, TypeAdapter(MissionPolicy), "a mission policy")
    fault = wait_fault(policy)
    if fault:
        raise DocumentUnreadable(str(path), fault)
    return policy


def load_routing_profile(path: Path | None) -> RoutingProfile | None:
    """The routing profile of a JSON file; None when there is no file to read.

    Raises:
        DocumentUnreadable: the file is missing, or not a profile.
    """
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
        raise DocumentUnreadable(str(path), _first_fault(error, name)) from error
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DocumentUnreadable(str(path), f"{reason}; it should be {name}") from error


def _first_fault(error: ValidationError, name: str) -> str:
    """Where it is and what is wrong there, in one line."""
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"]) or name
    if fault["type"] == "extra_forbidden":
        return f"{place} is no part of {name}"
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}"
