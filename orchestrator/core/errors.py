"""Every error of the product, in one tree, and its warnings.

OrchestratorError
  UsageError          the caller asked for something impossible
  DocumentInvalid, ToolNotFound, SecretMissing, PiiMissing
  PlanError           a plan or a planner's decision is at fault
  SubjectError        the text begins with what it is about
    ConfirmationError   a decision or a grant is at fault
  ServiceUnavailable  a required service does not answer; retryable
    NoWorker            no worker polls a task queue with waiting tasks
    PayloadLocked       a payload cannot be read here and now
    StateMissing        a mission's state outside its history is not available here

An error that somebody catches has a class of its own. Others have the class of their kind, a
sentence and a `code`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

KEYS_VARIABLE: Final = "ORCHESTRATOR_PAYLOAD_KEYS"
NOT_IN_TIME: Final = "NotInTime"
"""Code of a `StateMissing`: the worker's clock is wrong, or it was paused for too long."""
THOUGHT_CUT_OFF: Final = "ThoughtCutOff"
"""Code of a `ServiceUnavailable`: each worker that began this thought has died."""
OBSERVATIONS_UNKEPT: Final = "ObservationsUnkept"
"""Code of a `StateMissing`: the observations of a mission cannot be stored now."""


class OrchestratorError(Exception):
    """Base class: its text is one sentence that states the problem and the remedy."""

    retryable: ClassVar[bool] = False
    """True if the same work may succeed later, or on another worker."""
    code: str
    """The type under which the error crosses the Temporal boundary; the class name by default."""

    def __init__(self, sentence: str = "", *, code: str = "", **fields: Any) -> None:
        """Take a sentence, a code, and the fields that a subclass declares."""
        super().__init__(sentence)
        self.code = code or type(self).__name__
        vars(self).update(fields)

    @property
    def details(self) -> dict[str, Any]:
        """Return the class and the fields, from which `error_named` rebuilds the error."""
        return vars(self) | {"kind": type(self).__name__}


def error_named(sentence: str, details: Mapping[str, Any]) -> OrchestratorError | None:
    """Return the error with that sentence and these details; None if it has no class here."""
    kind = globals().get(str(details.get("kind")))
    if not (isinstance(kind, type) and issubclass(kind, OrchestratorError)):
        return None  # a different kind of error, or one of another release
    made = kind.__new__(kind, sentence)
    vars(made).update({name: value for name, value in details.items() if name != "kind"})
    return made


class SubjectError(OrchestratorError):
    """An error whose text is the subject, such as an id or a path, and the reason."""

    about: ClassVar[str] = "{}"
    """The subject in the text."""
    subject: str
    reason: str

    def __init__(self, subject: str, reason: str, *, code: str = "", **fields: Any) -> None:
        said = self.about.format(subject)
        super().__init__(f"{said}: {reason}", code=code, subject=said, reason=reason, **fields)


class UsageError(OrchestratorError):
    """The caller asked for something impossible: a bad flag, amount or id."""


class MissionIdTaken(UsageError):
    """Another request has started a mission under this id."""


class MissionNotFound(UsageError):
    """The server knows no mission of this id."""

    def __init__(self, mission_id: str) -> None:
        super().__init__(f"no mission {mission_id!r}; see: orchestrator mission list")


class ModelUnusable(SubjectError, UsageError):
    """No provider of this worker has the model, or its settings are incomplete."""

    about = "the model {} cannot be used here"


class DocumentUnreadable(SubjectError):
    """A file is missing, or is not a document."""

    about = "{} cannot be read"


class DocumentInvalid(OrchestratorError):
    """A document cannot be compiled; `pointer` is an RFC 6901 JSON pointer."""

    def __init__(self, document: str, pointer: str, reason: str, remedy: str = "") -> None:
        text = f"{document} at {pointer or '/'}: {reason}"
        super().__init__(text + (f"; {remedy}" if remedy else ""))
        self.document, self.pointer, self.reason, self.remedy = document, pointer, reason, remedy


class ToolNotFound(OrchestratorError):
    """The catalog has no such tool, or its operation was skipped."""


class PlanError(OrchestratorError):
    """A plan or a planner's decision is at fault."""


class GoalUnread(PlanError):
    """The rules cannot read a goal, or find no tool for it; a model may."""


class PlanInvalid(PlanError):
    """The legs repeat an id, have a missing dependency, form a cycle, or pass their wall."""


class DecisionInvalid(PlanError):
    """A planner's step names a tool that the planner was not shown, or cannot be carried out."""


class OutsideWall(DecisionInvalid):
    """A planner called a tool that its agent's profile does not allow."""


class ModelError(OrchestratorError):
    """A model gives no usable answer."""

    def __init__(
        self, model: str, reason: str, remedy: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(f"the model {model}: {reason}" + (f"; {remedy}" if remedy else ""))
        self.model, self.reason, self.remedy = model, reason, remedy
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError, PlanError):
    """The same request to the model would fail again."""


class ArgumentsInvalid(SubjectError):
    """The arguments break the tool's contract; nothing was sent."""

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        super().__init__(tool, "; ".join(problems))
        self.problems = tuple(problems)


class EgressRefused(SubjectError):
    """A call would leave the servers that the tool's document declares."""


class TransportFailed(SubjectError):
    """A request had no answer."""

    may_have_arrived: bool


class ConfirmationError(SubjectError):
    """A decision or a grant is at fault."""


class CardUnknown(ConfirmationError):
    """No such confirmation is open."""


class SignatureRefused(ConfirmationError):
    """The decision is unsigned, signed by an untrusted key, or signed for something else."""


class SignInTooOld(SignatureRefused):
    """The policy requires a fresh sign-in of the approver, which the signature does not prove."""

    max_age_s: float = 0.0


class GrantMissing(ConfirmationError):
    """No grant matches the arguments that a call is about to send."""


class GrantRefused(ConfirmationError):
    """The worker's policy does not let these people give the grant."""


class QuestionError(SubjectError):
    """An answer is at fault: QuestionUnknown, AnswerInvalid, PauseUnknown, ObligationNotParked."""


class SessionError(SubjectError):
    """A session is at fault: SessionUnknown, -Over, -Taken, -Busy, -Full, CallUnknown, KeyTaken."""

    about = "session {}"


class NoticeUndelivered(SubjectError):
    """A channel did not take a notice."""

    about = "the channel {} did not take it"
    final: bool = False
    """True if another attempt would end the same way."""
    gone: bool = False
    """True if the receiver wants no further notice."""
    retry_after_s: float | None = None


class SecretMissing(OrchestratorError):
    """A secret is not configured; the error never holds a value."""

    def __init__(self, name: str, looked_at: str) -> None:
        super().__init__(f"no secret {name!r}; set {looked_at}")


class PiiMissing(OrchestratorError):
    """The vault holds no such personal fields. Code: PiiGone, if another version of them."""

    def __init__(self, fields: Sequence[str], sentence: str = "", *, code: str = "") -> None:
        named = ", ".join(fields)
        missing = f"the PII vault holds no {named}; store it with: orchestrator pii NAME"
        super().__init__(sentence or missing, code=code)
        self.fields = tuple(fields)


class EventsUnreadable(OrchestratorError):
    """This release cannot read the events of a workflow."""

    def __init__(self, workflow_id: str, reason: str) -> None:
        super().__init__(
            f"the events of {workflow_id} cannot be read by this release ({reason}); read them "
            "with the release that its workers run, and go on after the same cursor"
        )
        self.reason = reason


class ServiceUnavailable(OrchestratorError):
    """A required service does not answer. Codes: WorkflowStuck, CancelUnheard, if tasks fail."""

    retryable = True


class ModelUnavailable(ModelError, ServiceUnavailable):
    """The model does not answer now."""


class ServerUnreachable(ServiceUnavailable):
    """No Temporal server answers."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"no Temporal server answers at {address}; start one with: orchestrator dev, "
            "or set TEMPORAL_ADDRESS"
        )


class NoWorker(ServiceUnavailable):
    """No worker polls the task queue that has waiting tasks. Code for a decision: NothingSent."""

    awaited: str
    """The event that ends the wait."""
    command: str
    """The command that helps."""


class NoAnswer(NoWorker):
    """A worker polls the task queue, or did until a moment ago, but did not answer in time."""


class EmbedderUnavailable(ServiceUnavailable):
    """The embedder gives no vectors."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the embedder gives no vectors: {reason}")
        self.reason = reason


class PayloadLocked(ServiceUnavailable):
    """A payload cannot be read here and now; its reader waits, and loses nothing."""

    UNKNOWN_HERE: ClassVar[str] = "a payload is encrypted with the key"

    def __init__(self, key_id: str, reason: str) -> None:
        remedy = f"give this process that key in {KEYS_VARIABLE} or {KEYS_VARIABLE}_FILE"
        super().__init__(f"{self.UNKNOWN_HERE} {key_id!r}, and {reason}; {remedy}")
        self.key_id, self.reason = key_id, reason


class StateMissing(ServiceUnavailable):
    """State outside a mission's history is not here; its work waits for a worker that has it."""


class CatalogNotFound(StateMissing):
    """The store has no catalog of this digest. Code: CatalogDamaged, if its content is another."""

    digest: str


class ObservationMissing(StateMissing):
    """The observations of a mission are not in this worker's store."""


class SlotsTaken(StateMissing):
    """This worker makes as many calls of a provider, or of a mission, as it may at once."""

    provider: str
    mission_id: str


class StoreUnavailable(SubjectError, StateMissing):
    """The store does not answer."""

    about = "the store {} cannot be used now"


class StoreRefused(UsageError, StateMissing):
    """The settings, the key or the release do not fit the store. Codes: StoreNewer, VaultLocked."""


class OverlayWarning(UserWarning):
    """An overlay action changed nothing: its path is mistyped, or has moved."""


class SkippedWarning(UserWarning):
    """An operation that is marked as a tool cannot be one, and was skipped."""


class UnreadWarning(UserWarning):
    """A file in a folder cannot be read as a document, and was skipped."""


class FunctionWarning(UserWarning):
    """A hint of a plain function was ignored, as its own text contradicts it."""
