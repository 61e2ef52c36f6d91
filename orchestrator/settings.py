"""What can be configured from outside, read once at the edge and passed on as values."""

import json
import os
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

from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentUnreadable, ProfilesInvalid, UsageError
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.new_requests import wait_fault
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.profile_faults import read_profiles
from orchestrator.routing.deadline import STEP_LIMIT_S, STEP_VECTORS_S
from orchestrator.routing.profile import RoutingProfile

T = TypeVar("T")

PLANNER_VARIABLE = "ORCHESTRATOR_PLANNER"
MODEL_VARIABLE = "ORCHESTRATOR_PLANNER_MODEL"


def bundled_specs() -> Path:
    """The folder of example documents, beside the packages both in a checkout and installed."""
    return Path(__file__).parents[1] / "specs"


def _split_at(separator: str) -> BeforeValidator:
    """Reads a text as the elements between separators; what is no text is left as it is."""
    return BeforeValidator(
        lambda v: tuple(filter(None, v.split(separator))) if isinstance(v, str) else v
    )


_Paths = Annotated[tuple[Path, ...], NoDecode, _split_at(os.pathsep)]
_Hosts = Annotated[tuple[str, ...], NoDecode, _split_at(",")]
"""Commas and not colons, for IPv6 addresses are full of them."""

OWN_FOLDER: Final = ".orchestrator"
"""Of an account, below its home: where its state is unless it says otherwise."""


class Settings(BaseSettings):
    """Settings from ORCHESTRATOR_* variables; the Temporal address comes from TEMPORAL_* ones.

    Examples:
        ORCHESTRATOR_SPECS=crm.yaml:billing/      files and folders of OpenAPI documents
        ORCHESTRATOR_OVERLAYS=crm-tools.yaml      overlays over them, applied in this order
        ORCHESTRATOR_STATE_DIR=/var/lib/missions  what is kept, of all workers on one machine
        ORCHESTRATOR_STORE=postgresql://missions:...@db/missions   (or ..._FILE=path) catalogs,
                                                  grants, vault of workers on many machines; unset,
                                                  a SQLite file in the state directory
        ORCHESTRATOR_BUILD_ID=2026-11-23.1        of this worker's code, for rolling upgrades; its
                                                  ORCHESTRATOR_DEPLOYMENT is the task queue
        ORCHESTRATOR_SERVER_VARIABLES='{"port": "9000"}'   values for their servers' variables
        ORCHESTRATOR_AGENTS=agents.yaml           a list of agent profiles
        ORCHESTRATOR_MISSION_POLICY=policy.yaml   for missions that bring no policy of their own;
                                                  of a worker: what no mission may go beyond
        ORCHESTRATOR_APPROVAL_KEYS=jwks.json      or an https URL: decisions have to be signed
        ORCHESTRATOR_PLANNER=mine                 an entry point, or as module:factory; chaining
                                                  (by rules) or llm (a model is needed) of ours
        ORCHESTRATOR_PLANNER_MODEL=openai:gpt-5    for agents that name none; its key as its
                                                  provider reads it; unset, no model plans
        ORCHESTRATOR_SPLIT_BY=none                who splits goals where a model plans: model,
                                                  the default; none: one leg has a whole goal
        ORCHESTRATOR_PLANNER_TIMEOUT_S=90         for one request to a model; _TEMPERATURE and
                                                  _MAX_TOKENS: as its provider has them
        ORCHESTRATOR_ROUTING_PROFILE=profile.json  what `orchestrator route calibrate` wrote
        ORCHESTRATOR_EMBEDDER=local:all-MiniLM-L6-v2   the router's vectors, in place of the
                                                  built-in ones; or https://HOST/v1#MODEL, or as
                                                  for planners; none: no vectors
        ORCHESTRATOR_SECRET_PAYMENTS_TOKEN=...    a credential (or ..._FILE=path)
        ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS=127.0.0.1,sandbox   hosts of tools, as their URLs name
                                                  them, that may be called though not public
        ORCHESTRATOR_SWEEP_INTERVAL=PT1M          or seconds; how often missions that were stopped
                                                  from outside are looked for, 0 for never
        ORCHESTRATOR_PII_KEY=...                  the key of the vault of personal values (or
                                                  ..._FILE=path); unset, a file beside the vault
        ORCHESTRATOR_PII_RETENTION=P30D           or seconds; how long values that a mission brought
                                                  and what it has seen are kept after its end
        ORCHESTRATOR_KEEP_RESULTS=P365D           or seconds; how long results stay in the store, 0
                                                  for not at all
        ORCHESTRATOR_PAYLOAD_KEYS=2026-11:...  what is recorded in Temporal is encrypted with the
                                                  first, and read with each (or ..._FILE=path)
        ORCHESTRATOR_ONLY_HOSTS=127.0.0.1:8700    tools are called there and nowhere else, whatever
                                                  their documents say; `dev` sets it
        ORCHESTRATOR_PROXY=http://proxy:3128      for all tool calls; HTTP_PROXY is not read
        ORCHESTRATOR_SEND_TRACE=false             providers are sent no `traceparent`
        ORCHESTRATOR_LOG_FORMAT=json              of a worker: an object per line

    `orchestrator settings` prints all of them, each with what it holds now and what it is for: the
    text below each field.
    """

    model_config = SettingsConfigDict(env_prefix="ORCHESTRATOR_", frozen=True)

    specs: _Paths = Field(default_factory=lambda: (bundled_specs(),))
    """Files and folders of OpenAPI documents, parted by the system's path separator; unset, the
    example documents that come along."""
    overlays: _Paths = ()
    """OpenAPI Overlay documents, applied over the documents in this order."""
    state_dir: Path = Field(default_factory=lambda: _own_folder())
    """The folder of what one machine keeps: the store unless it is elsewhere, logs of `dev`."""
    store: SecretStr | None = None
    """URL of the database of all workers: PostgreSQL for many machines; unset, a SQLite file in the
    state directory, which serves one machine without anything to install."""
    store_file: Path | None = None
    """A file that holds this URL, so that no environment shows its password."""
    task_queue: str = "orchestrator"
    """What clients put missions on and workers take them from: one for each installation, or for
    each tenant that is to have workers of its own."""
    deployment: str | None = Field(default=None, max_length=200)
    """What the builds of these workers are versions of, for Temporal; unset, it has the name of the
    task queue. The workers of one task queue all name the same."""
    build_id: str | None = Field(default=None, max_length=200)
    """Of the code that this worker runs, for rolling upgrades: a mission stays with the build that
    it began on, and new ones go to the one that is made current. Unset, workers take whatever
    waits."""
    server_variables: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """A JSON object: values for the variables of the documents' server URLs."""
    agents: Path | None = None
    """A YAML or JSON file with a list of agent profiles; unset, one profile per domain."""
    mission_policy: Path | None = None
    """A YAML or JSON file: of a client, for missions that bring no policy of their own; of a
    worker, what no mission may go beyond."""
    approval_keys: str | None = None
    """A JWK set, as a file or an https URL: every decision then has to be signed by a key of it."""
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
    planner_max_tokens: int | None = Field(default=None, ge=1)
    """Of one answer of a model; unset, as its provider has it."""
    planner_thinking: Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a model reasons before it answers, where it can; None: as its provider has it."""
    allowed_private_hosts: _Hosts = ()
    """Hosts of tools, as their URLs name them and parted by commas, that may be called though their
    addresses are not public."""
    only_hosts: _Hosts = ()
    """Hosts, with or without a port, that tools are called at; none: at all that are declared."""
    proxy: str | None = None
    """An HTTP proxy for all tool calls; HTTP_PROXY is not read, for a proxy sees every call."""
    max_file_bytes: int = Field(default=10_000_000, ge=0, le=100_000_000)
    """Of a file that a tool answers with: a larger one is not kept, and only told; 0: none is."""
    send_trace: bool = True
    """Whether providers are sent the `traceparent` of a call that is traced, by which they find it
    again; it names nothing but the trace."""
    log_format: Literal["text", "json"] = "text"
    """What a worker says on standard error: lines for people, or a JSON object in each for what
    collects them."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """From which level: INFO has a line for each step."""
    sweep_interval: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """Seconds, or ISO 8601: how often missions that were stopped from outside are looked for; 0 for
    never."""
    pii_key: SecretStr | None = None
    """The key of the vault of personal values; unset, a file beside the vault."""
    pii_key_file: Path | None = None
    """A file that holds that key, as secrets are mounted."""
    pii_retention: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Seconds, or ISO 8601: how long values that a mission brought, and what it has seen, are kept
    after its end."""
    keep_results: timedelta = Field(default=timedelta(days=90), ge=timedelta(0))
    """Seconds, or ISO 8601: how long the results of missions that are over stay in the store,
    whatever Temporal's retention; 0: they are not kept there."""
    payload_keys: SecretStr | None = None
    """ID:KEY of each key: what is recorded in Temporal is encrypted with the first, and read with
    each. Unset, nothing is encrypted."""
    payload_keys_file: Path | None = None
    """A file that holds them, as secrets are mounted."""
    payload_store: str | None = None
    """Where payloads of more than PAYLOAD_STORE_OVER bytes are kept: `store`, with all else that
    workers keep there; a folder that all workers and clients share; or module:factory of a storage
    driver of the SDK. Of several, with commas, the first keeps and each is read. Unset, they are
    recorded."""
    payload_store_over: int = Field(default=262_144, ge=1_000)
    """Bytes of a payload as it would be recorded; the server takes 2 MB at most."""
    routing_profile: Path | None = None
    """What `orchestrator route calibrate` wrote; unset, the fitted defaults."""
    routing_timeout_ms: float = Field(default=STEP_LIMIT_S * 1000, gt=0)
    """How long a step waits for its routing, before all tools are forwarded."""
    embedder: str | None = None
    """The router's vectors: local:MODEL, https://HOST/v1#MODEL, module:factory, or none; unset, the
    built-in ones."""
    embedder_timeout_ms: float = Field(default=STEP_VECTORS_S * 1000, gt=0)
    """How long a routing waits for the vectors of an embedder that is set, then goes on without."""
    health: str | None = None
    """HOST:PORT where a worker answers /healthz, /readyz and /metrics over HTTP. Unset, nowhere:
    two workers of one machine would take the port from each other, and whoever reaches it is told
    task queues and figures without a password. In a container 0.0.0.0:8080, published to nobody."""
    drain: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(0))
    """Seconds, or ISO 8601: how long a worker that is asked to stop lets what it runs end, at most.
    A call takes 20 s where no policy says otherwise, and one that is cut may have happened or not;
    it ends sooner when nothing runs. What stops it (stop_grace_period,
    terminationGracePeriodSeconds) has to wait longer than this."""
    max_activities: int = Field(default=100, ge=1)
    """Activities that one worker process runs at once, on each of its task queues. They wait for
    providers and models most of the time: raise it where they are slow, lower it where memory is
    short (an answer may be 1 MB)."""
    max_workflow_tasks: int = Field(default=100, ge=2)
    """Workflow tasks that one worker process runs at once, on each of its task queues; each
    computes for milliseconds, so more of them than this only wait for the processor."""
    max_cached_workflows: int = Field(default=1000, ge=1)
    """Workflows whose state one worker process keeps in memory; one that is not kept is replayed
    from its history when it goes on. A mission has two for itself and one for each leg."""
    pollers: Annotated[int, Field(ge=2)] | Literal["auto"] = 5
    """How many requests for tasks of each kind a worker process has open at the server, on each of
    its task queues; auto: as many as the server says that its backlog needs. Raise it where the
    server is far away (one round trip brings one task)."""
    activities_per_s: float | None = Field(default=None, gt=0)
    """How many activities one worker process begins in a second at most; unset, no limit."""
    queue_activities_per_s: float | None = Field(default=None, gt=0)
    """How many activities all workers of a task queue together begin in a second at most, as the
    server holds them to: for providers that allow an account only so many calls."""

    @property
    def encrypts(self) -> bool:
        """Whether what is recorded in Temporal is encrypted."""
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
        return json.loads(value) if isinstance(value, str) else value


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
        ProfilesInvalid: one of the profiles is not written as it should be.
    """
    if path is None:
        return ()
    profiles, faults = read_profiles(read_profiles_file(path))
    if faults:
        raise ProfilesInvalid(str(path), tuple(map(str, faults)))
    return profiles


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
    """What a YAML or JSON file holds.

    A key that is not known is refused too: mistyped, a rule on who may decide would silently hold
    for nobody. So is one that is there twice: one of the two walls, or rules, would not hold.
    """
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
