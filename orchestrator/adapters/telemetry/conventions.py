"""Names of the spans, measurements and attributes of telemetry, as in docs/observing.md."""

from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.messages import names

Kind = Literal["counter", "histogram", "gauge"]
Buckets = tuple[float, ...]

# Still in development in the conventions, so not among the library's stable constants.
URL_TEMPLATE: Final = "url.template"
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
TOOL_NAME: Final = "gen_ai.tool.name"
CALL_ID: Final = "gen_ai.tool.call.id"
TOKEN_TYPE: Final = "gen_ai.token.type"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
ERROR_TYPE: Final = "error.type"

MISSION_ID: Final = "orchestrator.mission.id"
LEG_ID: Final = "orchestrator.leg.id"
STATUS: Final = "orchestrator.status"
ATTEMPT: Final = "orchestrator.attempt"
OUTCOME: Final = "orchestrator.outcome"
REFUSED_AT: Final = "orchestrator.agent.refused_at"
ROUTE_REASON: Final = "orchestrator.route.reason"
COST: Final = "orchestrator.model.cost"
NOTICE_EVENT: Final = "orchestrator.notice.event"
NOTICE_CHANNEL: Final = "orchestrator.notice.channel"
ROUTE_HEADERS: Final = (
    *("x-orqen-tools-input", "x-orqen-tools-output", "x-orqen-prune-ratio"),
    *("x-orqen-routing", "x-orqen-embedder"),
)
"""Headers of a selection, the same as for callers of the proxy."""

SECONDS: Final[Buckets] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Buckets for the work of machines."""
LONG_SECONDS: Final[Buckets] = (
    *(0.1, 0.5, 1, 2.5, 5, 15, 60, 300, 900),
    *(3600, 4 * 3600, 86400, 3 * 86400, 7 * 86400),
)
"""Buckets for waits for people, up to a week."""
_COUNTS: Final[Buckets] = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100, 250, 1000, 5000)
_TOKENS: Final[Buckets] = tuple(float(4**power) for power in range(14))
"""Buckets for tokens, as in the conventions for generative AI."""


@dataclass(frozen=True)
class Measured:
    """A measurement."""

    name: str
    kind: Kind
    unit: str
    attributes: tuple[str, ...]
    means: str
    buckets: Buckets = ()


@dataclass(frozen=True)
class Spanned:
    """A span; braces in its name stand for one of its attributes, or a name of this project."""

    name: str
    attributes: tuple[str, ...]
    means: str


_HTTP = ("http.request.method", "server.address", "server.port", "url.scheme")
_HTTP_END = ("http.response.status_code", ERROR_TYPE)
_MODEL = (OPERATION, PROVIDER, REQUEST_MODEL)
_MISSION = (MISSION_ID, CONVERSATION_ID)
_WHERE = (*_MISSION, LEG_ID, AGENT_NAME)

# fmt: off
HTTP_DURATION: Final = Measured(
    "http.client.request.duration", "histogram", "s", (*_HTTP, *_HTTP_END),
    "Duration of requests to providers.", SECONDS,
)
SERVER_DURATION: Final = Measured(
    "http.server.request.duration", "histogram", "s",
    ("http.request.method", "http.route", "http.response.status_code"),
    "Duration of requests to `serve`, without event streams.", SECONDS,
)
TOOL_CALLS: Final = Measured(
    "orchestrator.tool.calls", "counter", "{call}", (TOOL_NAME, OUTCOME),
    "Calls of tools, cancels and probes; failed: without an answer.",
)
SELECTIONS: Final = Measured(
    "orchestrator.route.selections", "counter", "{selection}", ("band", "embedder"),
    "Selections of tools; fail_open: the router failed.",
)
TOOLS_OFFERED: Final = Measured(
    "orchestrator.route.tools.offered", "histogram", "{tool}", ("band",),
    "Tools that a selection chose from.", _COUNTS,
)
TOOLS_FORWARDED: Final = Measured(
    "orchestrator.route.tools.forwarded", "histogram", "{tool}", ("band",),
    "Tools that it forwarded.", _COUNTS,
)
REFUSALS: Final = Measured(
    "orchestrator.agent.refusals", "counter", "{call}", ("at",),
    "Calls outside the wall of their agent, by the place of the refusal.",
)
NOTICES: Final = Measured(
    "orchestrator.notices", "counter", "{notice}", (NOTICE_EVENT, NOTICE_CHANNEL, OUTCOME),
    "Notices of cards and questions by kind of channel.",
)
TOKENS: Final = Measured(
    "gen_ai.client.token.usage", "histogram", "{token}", (*_MODEL, TOKEN_TYPE),
    "Tokens of each request to a model.", _TOKENS,
)
MODEL_DURATION: Final = Measured(
    "gen_ai.client.operation.duration", "histogram", "s", (*_MODEL, ERROR_TYPE),
    "Duration of requests to models.", SECONDS,
)
MODEL_COST: Final = Measured(
    "orchestrator.model.cost", "counter", "{USD}", _MODEL,
    "Cost of requests to models by list price.",
)
PARKED: Final = Measured(
    "orchestrator.rollback.parked", "gauge", "{obligation}", (),
    "Obligations of the namespace that wait for an operator.",
)
WAITING: Final = Measured(
    "orchestrator.waiting", "gauge", "{workflow}", ("for",),
    "Missions and rollbacks of the namespace that wait, by reason.",
)
MISSION_DURATION: Final = Measured(
    names.MISSION_DURATION, "histogram", "s", ("status",),
    "Duration of missions by final status.", LONG_SECONDS,
)
LEG_DURATION: Final = Measured(
    names.LEG_DURATION, "histogram", "s", ("agent", "status"),
    "Duration of legs by agent and final status.", LONG_SECONDS,
)
CONFIRMATION_WAIT: Final = Measured(
    names.CONFIRMATION_WAIT, "histogram", "s", ("card_type", "end"),
    "Time that cards were open.", LONG_SECONDS,
)
DECISIONS: Final = Measured(
    names.DECISIONS_METRIC, "counter", "{decision}", ("card_type", "decision"),
    "Decisions on cards.",
)
REMINDERS: Final = Measured(
    names.REMINDERS_METRIC, "counter", "{reminder}", ("card_type",), "Reminders of open cards."
)
ROLLBACK_DURATION: Final = Measured(
    names.ROLLBACK_DURATION, "histogram", "s", ("end",),
    "Duration of rollbacks until all was tried.", LONG_SECONDS,
)
OBLIGATIONS: Final = Measured(
    names.OBLIGATIONS_METRIC, "counter", "{obligation}", ("state",),
    "Obligations of rollbacks, when all was tried.",
)
# fmt: on

MEASUREMENTS: Final = (
    *(HTTP_DURATION, SERVER_DURATION, TOOL_CALLS, SELECTIONS, TOOLS_OFFERED, TOOLS_FORWARDED),
    *(REFUSALS, NOTICES),
    *(TOKENS, MODEL_DURATION, MODEL_COST, MISSION_DURATION, LEG_DURATION),
    *(CONFIRMATION_WAIT, DECISIONS, REMINDERS, ROLLBACK_DURATION, OBLIGATIONS, PARKED, WAITING),
)

SPANS: Final = (
    Spanned("start mission", (MISSION_ID,), "A client starts a mission."),
    Spanned(
        "mission",
        (*_MISSION, STATUS, ERROR_TYPE),
        "A run of a mission; continue-as-new makes several.",
    ),
    Spanned("rollback", (*_MISSION, STATUS, ERROR_TYPE), "A rollback, until nothing is parked."),
    Spanned("plan preview", (ERROR_TYPE,), "A plan that is only shown."),
    Spanned("sweep", (ERROR_TYPE,), "A search for missions that were stopped from outside."),
    Spanned(
        "{activity}",
        (*(*_WHERE, ATTEMPT, ERROR_TYPE, REFUSED_AT, ROUTE_REASON), *ROUTE_HEADERS),
        "An attempt of an activity, such as split_goal, think or cancel_obligation.",
    ),
    Spanned(
        f"execute_tool {{{TOOL_NAME}}}",
        (*_WHERE, OPERATION, TOOL_NAME, CALL_ID, ATTEMPT, ERROR_TYPE, REFUSED_AT),
        "One attempt of a tool call, with its checks.",
    ),
    Spanned(
        f"{{http.request.method}} {{{URL_TEMPLATE}}}",
        (*_HTTP, *_HTTP_END, URL_TEMPLATE, TOOL_NAME, CALL_ID, OUTCOME),
        "One request to a provider, which gets its `traceparent`.",
    ),
    Spanned(
        "{http.request.method} {http.route}",
        ("http.request.method", "http.route", "http.response.status_code"),
        "One request to `serve`, without id, query or person.",
    ),
    Spanned(
        f"chat {{{REQUEST_MODEL}}}",
        (*_MODEL, INPUT_TOKENS, OUTPUT_TOKENS, CACHED_TOKENS, COST, ERROR_TYPE),
        "One request to a model.",
    ),
)
