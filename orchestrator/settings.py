"""What can be configured from outside, read once at the edge and passed on as values."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

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


class Settings(BaseSettings):
    """Settings from ORCHESTRATOR_* variables; the Temporal address comes from TEMPORAL_* ones.

    Examples:
        ORCHESTRATOR_SPECS=crm.yaml:billing/      files and folders of OpenAPI documents
        ORCHESTRATOR_OVERLAYS=crm-tools.yaml      overlays over them, applied in this order
        ORCHESTRATOR_STATE_DIR=/var/lib/missions  catalogs, vault; of all workers of a queue
        ORCHESTRATOR_SERVER_VARIABLES='{"port": "9000"}'   values for their servers' variables
        ORCHESTRATOR_AGENTS=agents.yaml           a list of agent profiles
        ORCHESTRATOR_MISSION_POLICY=policy.yaml   for missions that bring no policy of their own;
                                                  of a worker: what no mission may go beyond
        ORCHESTRATOR_APPROVAL_KEYS=jwks.json      or an https URL: decisions have to be signed
        ORCHESTRATOR_PLANNER=mine                 an entry point, or as module:factory; chaining
                                                  (by rules) or llm (a model is needed) of ours
        ORCHESTRATOR_PLANNER_MODEL=openai:gpt-5    for agents that name none; its key as its
                                                  provider reads it; unset, no model plans
        ORCHESTRATOR_SPLIT_BY=rules               who splits goals where a model plans every leg:
                                                  model, the default, or rules
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
        ORCHESTRATOR_ONLY_HOSTS=127.0.0.1:8700    tools are called there and nowhere else, whatever
                                                  their documents say; `dev` sets it
        ORCHESTRATOR_PROXY=http://proxy:3128      for all tool calls; HTTP_PROXY is not read
    """

    model_config = SettingsConfigDict(env_prefix="ORCHESTRATOR_", frozen=True)

    specs: _Paths = Field(default_factory=lambda: (bundled_specs(),))
    overlays: _Paths = ()
    state_dir: Path = Field(default_factory=lambda: Path.home() / ".orchestrator")
    task_queue: str = "orchestrator"
    server_variables: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    agents: Path | None = None
    mission_policy: Path | None = None
    approval_keys: str | None = None
    planner: str | None = None
    planner_model: str | None = None
    split_by: Literal["model", "rules"] = "model"
    planner_timeout_s: float = Field(default=90.0, gt=0, le=280)
    """How long one request to a model may take, all in all; a step asks at most twice."""
    planner_temperature: float | None = Field(default=None, ge=0)
    planner_max_tokens: int | None = Field(default=None, ge=1)
    """Of one answer of a model; both are the provider's own unless they are set."""
    planner_thinking: Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a model reasons before it answers, where it can; None: as its provider has it."""
    allowed_private_hosts: _Hosts = ()
    only_hosts: _Hosts = ()
    """Hosts, with or without a port, that tools are called at; none: at all that are declared."""
    proxy: str | None = None
    sweep_interval: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0))
    pii_key: SecretStr | None = None
    pii_key_file: Path | None = None
    pii_retention: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    routing_profile: Path | None = None
    routing_timeout_ms: float = Field(default=STEP_LIMIT_S * 1000, gt=0)
    """How long a step waits for its routing, before all tools are forwarded."""
    embedder: str | None = None
    embedder_timeout_ms: float = Field(default=STEP_VECTORS_S * 1000, gt=0)
    """How long a routing waits for the vectors of an embedder that is set, then goes on without."""

    @field_validator("sweep_interval", "pii_retention", mode="before")
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


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        UsageError: a variable does not hold what it should.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "ORCHESTRATOR_" + "_".join(str(part) for part in first["loc"]).upper()
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
