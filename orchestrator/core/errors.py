"""Every error of the product, in one tree, and the one warning.

OrchestratorError
├── UsageError              the caller asked for something that cannot be: a bad flag, amount or id
│   ├── MissionIdTaken      a mission with that id was started with another goal
│   ├── MissionNotFound     no mission with that id
│   └── ObligationNotParked an operator decided on what no rollback waits for
├── SpecError               a document or catalog is at fault
│   ├── DocumentUnreadable  no such file, or not JSON or YAML
│   ├── DocumentInvalid     read, but not an OpenAPI document we can compile
│   ├── CatalogNotFound     no catalog with that digest is stored
│   │   └── CatalogDamaged  its file is there, and holds something else
│   └── ToolNotFound        the catalog has no such tool
├── PlanError               a plan or a planner's decision is at fault
│   ├── NothingFits         no tool can do what the goal asks
│   ├── RequestUnread       the router failed, and there is no model to do without it
│   ├── PlanInvalid         legs that repeat, depend on nobody, or run in a circle
│   ├── DecisionInvalid     a step that names a tool it was not shown, or cannot be
│   ├── MissionRefused      a mission could not be planned, or was over before it was
│   └── ModelRefused        the provider of a model does not serve the request
├── ToolError               a tool call is at fault
│   ├── ArgumentsInvalid    refused before sending: the arguments break the contract
│   ├── EgressRefused       the request would have gone to a host that it may not go to
│   ├── TokenRefused        the provider's token endpoint gives this client no token
│   ├── DeadlinePassed      refused before sending: a rollback may be under way by now
│   └── TransportFailed     the provider could not be reached, or the answer never came
├── ConfirmationError       a decision or a grant is at fault
│   ├── CardUnknown         no such confirmation is open
│   ├── CardDecided         it was already decided
│   ├── CardExpired         it was not decided in time
│   ├── DigestMismatch      the decision was made on other arguments than the card's
│   ├── ApproverRefused     this person may not decide on this card
│   ├── AmendmentInvalid    the changed arguments break the contract of the tool
│   ├── PersonalValueSent   an amendment carries a personal value in the open
│   ├── GrantMissing        a call that needs a grant came without one that matches
│   └── GrantUsed           its grant was used for a call before
├── QuestionError           an answer is at fault
│   ├── QuestionUnknown     no such question is open
│   └── AnswerInvalid       it is not what was asked for
├── SecretMissing           a credential is declared and not configured
├── PiiMissing              a personal field is needed and the vault does not hold it
└── ServiceUnavailable      something we need does not answer
    ├── ServerUnreachable   no Temporal server at the address
    ├── NoWorker            nobody polls the task queue
    ├── ModelUnavailable    a model did not answer in time, or is overloaded
    ├── EmbedderUnavailable no vectors now; the router goes on without them
    ├── LegsRunning         a leg has not stopped yet, so what it leaves is not known
    └── QueryFailed         a workflow cannot be read: its worker does not replay it
        └── RunReplayed     not at this moment: it is just being replayed
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class OrchestratorError(Exception):
    """The base: its text is one sentence that says what is wrong and what to do about it.

    Attributes are named as the constructor's parameters: `error_named` makes an error again from
    its `details`, where it arrives.
    """

    retryable: ClassVar[bool] = False
    """Whether the same work may succeed later, or on another worker."""

    @property
    def details(self) -> dict[str, Any]:
        """What it was made of, by parameter."""
        return dict(vars(self))


def error_named(name: str, details: Mapping[str, Any]) -> OrchestratorError | None:
    """The error of this tree with that name and these details; None when it cannot be made."""
    kind = globals().get(name)
    if not details or not (isinstance(kind, type) and issubclass(kind, OrchestratorError)):
        return None
    try:
        return kind(**details)
    except TypeError:  # as another release makes it
        return None


class UsageError(OrchestratorError):
    """The caller asked for something that cannot be."""


class MissionIdTaken(UsageError):
    """A mission with that id exists, and was asked for something else."""

    def __init__(self, mission_id: str) -> None:
        self.mission_id = mission_id
        super().__init__(
            f"a mission {mission_id!r} exists, with another goal, other inputs or another budget; "
            "choose another id"
        )


class MissionNotFound(UsageError):
    """The server knows no mission with that id."""

    def __init__(self, mission_id: str) -> None:
        self.mission_id = mission_id
        super().__init__(f"no mission {mission_id!r}; see: orchestrator mission list")


class ObligationNotParked(UsageError):
    """An operator's decision on an obligation that its rollback does not wait for."""

    def __init__(self, obligation_id: str) -> None:
        self.obligation_id = obligation_id
        super().__init__(f"{obligation_id} is not parked in this rollback")


class SpecError(OrchestratorError):
    """A document or catalog is at fault."""


class DocumentUnreadable(SpecError):
    """A file that is missing, or is neither JSON nor YAML."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path} cannot be read: {reason}")


class DocumentInvalid(SpecError):
    """A document that was read and cannot be compiled; `pointer` is an RFC 6901 JSON pointer."""

    def __init__(self, document: str, pointer: str, reason: str) -> None:
        self.document = document
        self.pointer = pointer
        self.reason = reason
        super().__init__(f"{document} at {pointer or '/'}: {reason}")


class CatalogNotFound(SpecError):
    """No catalog with that digest is stored where this worker looks."""

    retryable = True

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(
            f"no catalog {digest[:12]} is stored here; point the worker at the state directory "
            "of the worker that started the mission"
        )


class CatalogDamaged(CatalogNotFound):
    """The file of a stored catalog was cut off or changed."""

    def __init__(self, digest: str, path: str, reason: str) -> None:
        self.path = path
        super().__init__(digest)
        self.args = (
            f"the catalog {digest[:12]} in {path} is damaged: {reason}; bring the file back, or "
            "start a worker on the documents that it was made from, which writes it anew",
        )


class ToolNotFound(SpecError):
    """The catalog has no such tool."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        self.name = name
        self.near = tuple(near)
        hint = f"; did you mean {', '.join(self.near)}?" if self.near else ""
        super().__init__(f"no tool is called {name!r}{hint or '; see: orchestrator tools list'}")


class PlanError(OrchestratorError):
    """A plan or a planner's decision is at fault."""


class NothingFits(PlanError):
    """No tool of the catalog can do what the text asks."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"no tool fits {text!r}; name something the tools can do (see: orchestrator tools list)"
        )


class RequestUnread(PlanError):
    """The router failed on a request that is to be planned without a model."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the request could not be read: {reason}; report this as a defect of the router, "
            "or set a model for the agent, which plans without it"
        )


class PlanInvalid(PlanError):
    """Legs that repeat an id, depend on a leg that is not there, or run in a circle."""


class DecisionInvalid(PlanError):
    """A planner's step that cannot be carried out."""


class MissionRefused(PlanError):
    """A mission that could not be planned; nothing was done."""

    def __init__(self, mission_id: str, reason: str) -> None:
        self.mission_id = mission_id
        self.reason = reason
        super().__init__(f"{mission_id}: {reason}")


class ModelRefused(PlanError):
    """A model's provider that will not serve the request: credentials, quota, size or content."""

    def __init__(self, model: str, reason: str) -> None:
        self.model = model
        self.reason = reason
        super().__init__(f"the model {model} cannot plan this step: {reason}")


class ToolError(OrchestratorError):
    """A tool call is at fault."""


class ArgumentsInvalid(ToolError):
    """Arguments that break the tool's contract; nothing was sent."""

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        super().__init__(f"{tool}: {'; '.join(self.problems)}")


class EgressRefused(ToolError):
    """A request to a host that may not be called; nothing was sent there."""

    def __init__(
        self, tool: str, host: str, reason: str = "is not a server that its document declares"
    ) -> None:
        """Name the tool and the host, and say what about it."""
        self.tool = tool
        self.host = host
        super().__init__(f"{tool}: {host} {reason}")


class TokenRefused(ToolError):
    """A token endpoint gave no token; nothing was done by the tool that needed it."""

    def __init__(self, tool: str, secret: str, reason: str) -> None:
        self.tool = tool
        self.secret = secret
        super().__init__(
            f"{tool}: its token endpoint refused the client of {secret!r}: {reason}; check the "
            f"secrets {secret}_client_id and {secret}_client_secret"
        )


class DeadlinePassed(ToolError):
    """A side effect that was not sent before its deadline; nothing was sent."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool}: its deadline has passed; nothing was sent")


class TransportFailed(ToolError):
    """No answer; `may_have_arrived` tells whether the provider may have acted all the same."""

    def __init__(self, tool: str, reason: str, *, may_have_arrived: bool) -> None:
        self.tool = tool
        self.reason = reason
        self.may_have_arrived = may_have_arrived
        super().__init__(f"{tool}: {reason}")


class ConfirmationError(OrchestratorError):
    """A decision or a grant is at fault."""

    def __init__(self, confirmation_id: str, reason: str) -> None:
        self.confirmation_id = confirmation_id
        self.reason = reason
        super().__init__(f"{confirmation_id}: {reason}")


class CardUnknown(ConfirmationError):
    """No such confirmation is open."""


class CardDecided(ConfirmationError):
    """The confirmation was already decided."""


class CardExpired(ConfirmationError):
    """The confirmation was not decided in time."""


class DigestMismatch(ConfirmationError):
    """The decision was made on other arguments than the card now shows."""


class ApproverRefused(ConfirmationError):
    """The person who decided may not decide on this card."""


class AmendmentInvalid(ConfirmationError):
    """The amended arguments break the tool's contract; the card stays as it was."""


class PersonalValueSent(ConfirmationError):
    """An amendment carried a personal value where only its handle may stand."""


class GrantMissing(ConfirmationError):
    """A call that needs a grant came without one that matches what it is about to send."""


class GrantUsed(ConfirmationError):
    """A call came with a grant that was used for a call before."""


class QuestionError(OrchestratorError):
    """An answer to a leg's question is at fault."""

    def __init__(self, question_id: str, reason: str) -> None:
        self.question_id = question_id
        self.reason = reason
        super().__init__(f"{question_id}: {reason}")


class QuestionUnknown(QuestionError):
    """No such question is open."""


class AnswerInvalid(QuestionError):
    """The answer is not what was asked for; the question stays open."""


class SecretMissing(OrchestratorError):
    """A credential that a document declares and nobody configured."""

    def __init__(self, name: str, looked_at: str) -> None:
        self.name = name
        super().__init__(f"no secret {name!r}; set {looked_at}")


class PiiMissing(OrchestratorError):
    """A personal field that a call needs and the vault does not hold."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = tuple(fields)
        named = ", ".join(self.fields)
        super().__init__(f"the PII vault holds no {named}; store it with: orchestrator pii set")


class ServiceUnavailable(OrchestratorError):
    """Something we need does not answer."""

    retryable = True


class ServerUnreachable(ServiceUnavailable):
    """No Temporal server at the address."""

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__(
            f"no Temporal server answers at {address}; start one with: orchestrator dev, "
            "or set TEMPORAL_ADDRESS"
        )


class NoWorker(ServiceUnavailable):
    """Nobody polls the task queue, so a mission would wait for ever."""

    def __init__(self, task_queue: str) -> None:
        self.task_queue = task_queue
        super().__init__(
            f"no worker polls the task queue {task_queue!r}; start one with: orchestrator worker"
        )


class ModelUnavailable(ServiceUnavailable):
    """A model that does not answer now; another attempt may reach it."""

    def __init__(self, model: str, reason: str) -> None:
        self.model = model
        self.reason = reason
        super().__init__(f"the model {model} does not answer: {reason}")


class EmbedderUnavailable(ServiceUnavailable):
    """An embedder that has no vectors for the router now; `reason` holds nothing of a request."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the embedder gives no vectors: {reason}")


class LegsRunning(ServiceUnavailable):
    """A leg has not stopped yet, so what it leaves is not known; it was asked to stop."""

    def __init__(self, leg_id: str) -> None:
        self.leg_id = leg_id
        super().__init__(f"the leg {leg_id} has not stopped yet")


class QueryFailed(ServiceUnavailable):
    """A workflow that cannot be read: its worker failed to replay it."""

    def __init__(self, workflow_id: str, reason: str) -> None:
        self.workflow_id = workflow_id
        super().__init__(
            f"{workflow_id} cannot be read ({' '.join(reason.split())}); it goes on or waits in "
            "Temporal: run the workers with the code that it was started with, and ask again"
        )


class RunReplayed(QueryFailed):
    """A worker sent a query back while it replays the run: asked again, it answers."""


class OverlayWarning(UserWarning):
    """An action of an overlay changed nothing: a path that was mistyped, or that has moved."""
