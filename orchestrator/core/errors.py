"""Every error of the product, in one tree, and its warnings.

OrchestratorError
  UsageError          the caller asked for something impossible
  DocumentUnreadable, DocumentInvalid, ToolNotFound, CatalogNotFound
  PlanError           a plan or a planner's decision is at fault
  ArgumentsInvalid, EgressRefused, TokenRefused, TransportFailed, SecretMissing, PiiMissing
  NoticeUndelivered   a channel did not take an announcement
  ConfirmationError   a decision or a grant is at fault
  QuestionError       an answer to a question, a pause or a parked obligation is at fault
  SessionError        a session is not used as it can be
  ServiceUnavailable  a required service does not answer; retryable
    NoWorker            no worker polls a task queue with waiting tasks
    PayloadLocked       a payload cannot be read here and now
    StateMissing        a mission's state outside its history is not available here
      StoreUnusable       the settings, the key or the release do not fit the store

An error that somebody catches has a class of its own. Others have the class of their kind, a
sentence and a `code`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Final, dataclass_transform

from orchestrator.core import command_lines

KEYS_VARIABLE: Final = "ORCHESTRATOR_PAYLOAD_KEYS"
NOT_IN_TIME: Final = "NotInTime"
"""Code of a `StateMissing`: the worker's clock is wrong, or it was paused for too long."""
THOUGHT_CUT_OFF: Final = "ThoughtCutOff"
"""Code of a `ServiceUnavailable`: each worker that began this thought has died."""


class OrchestratorError(Exception):
    """Base class: its text is one sentence that states the problem and the remedy."""

    retryable: ClassVar[bool] = False
    """True if the same work may succeed later, or on another worker."""
    code: str
    """The type under which the error crosses the Temporal boundary; the class name by default."""

    def __init__(self, sentence: str = "", *, code: str = "") -> None:
        """Take a sentence, and a code for an error that has no class of its own."""
        super().__init__(sentence)
        self.code = code or type(self).__name__

    @property
    def details(self) -> dict[str, Any]:
        """Return the fields by name, from which `error_named` rebuilds the error."""
        fields = {name: value for name, value in vars(self).items() if name != "code"}
        is_coded = fields and self.code != type(self).__name__
        return fields | ({"code": self.code} if is_coded else {})


@dataclass_transform(eq_default=False)
class Worded(OrchestratorError):
    """Base class of errors with fields: a subclass declares them like a dataclass."""

    template: ClassVar[str] = "{reason}"
    """The text, with the fields in braces; the field `remedy` follows it."""

    def __init_subclass__(cls) -> None:
        """Create the constructor from the declared fields."""
        dataclass(eq=False)(cls)

    def __post_init__(self) -> None:
        """Convert lists to tuples, as a caller or JSON may give lists."""
        vars(self).update({k: tuple(v) for k, v in vars(self).items() if isinstance(v, list)})
        self.code = vars(self).get("code") or type(self).__name__

    def __str__(self) -> str:
        remedy = vars(self).get("remedy")
        return self.template.format(**vars(self)) + (f"; {remedy}" if remedy else "")


def error_named(code: str, details: Mapping[str, Any]) -> OrchestratorError | None:
    """Return the error with that code and these details; None if it cannot be made."""
    kind = globals().get(code)
    several = (ConfirmationError, QuestionError, SessionError)
    kinds = (kind,) if isinstance(kind, type) else several
    for one in kinds if details else ():
        try:
            return one(**details) if issubclass(one, OrchestratorError) else None
        except TypeError:  # a different kind of error, or one of another release
            continue
    return None


class UsageError(OrchestratorError):
    """The caller asked for something impossible: a bad flag, amount or id."""


class MissionIdTaken(UsageError, Worded):
    template = (
        "a mission {mission_id!r} exists, with another goal, other inputs, another budget or "
        "another requester; choose another id"
    )
    mission_id: str


class MissionNotFound(UsageError, Worded):
    template = "no mission {mission_id!r}; see: orchestrator mission list"
    mission_id: str


class PolicyWidened(UsageError):
    """A mission's own policy allows more than the policy of the worker."""


class ModelUnusable(UsageError, Worded):
    template = "the model {model} cannot be used here: {reason}"
    model: str
    reason: str


class DocumentUnreadable(Worded):
    template = "{path} cannot be read: {reason}"
    path: str
    reason: str


class DocumentInvalid(Worded):
    """A document cannot be compiled; `pointer` is an RFC 6901 JSON pointer."""

    document: str
    pointer: str
    reason: str
    remedy: str = ""
    """A fix, where there is more to say than to correct the place."""

    def __str__(self) -> str:
        text = f"{self.document} at {self.pointer or '/'}: {self.reason}"
        return f"{text}; {self.remedy}" if self.remedy else text


class ToolNotFound(Worded):
    """The catalog has no such tool."""

    name: str
    near: Sequence[str] = ()
    skipped: str = ""
    """Why the operation of that name was skipped, as a sentence."""

    def __str__(self) -> str:
        near = f"did you mean {', '.join(self.near)}?" if self.near else ""
        missing = f"no tool is called {self.name!r}; {near or 'see: orchestrator tools list'}"
        return self.skipped or missing


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


class PlanRefused(PlanError, Worded):
    """A goal cannot be planned, where only its plan was requested."""

    reason: str


class ModelRefused(PlanError, Worded):
    template = "the model {model} cannot plan this step: {reason}"
    model: str
    reason: str
    remedy: str = ""
    retry_after_s: float | None = None


class ArgumentsInvalid(Worded):
    """The arguments break the tool's contract; nothing was sent."""

    tool: str
    problems: Sequence[str]

    def __str__(self) -> str:
        return f"{self.tool}: {'; '.join(self.problems)}"


class EgressRefused(Worded):
    template = "{tool}: {host} {reason}"
    tool: str
    host: str
    reason: str = "is not a server that its document declares"


class TokenRefused(Worded):
    template = (
        "{tool}: its token endpoint refused the client of {secret!r}: {reason}; check the "
        "secrets {secret}__client_id and {secret}__client_secret"
    )
    tool: str
    secret: str
    reason: str


class TransportFailed(Worded):
    template = "{tool}: {reason}"
    tool: str
    reason: str
    _: KW_ONLY
    may_have_arrived: bool


class ConfirmationError(Worded):
    template = "{confirmation_id}: {reason}"
    confirmation_id: str
    reason: str
    _: KW_ONLY
    code: str = ""


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


class QuestionError(Worded):
    """An answer to a question, a pause or a parked obligation is at fault.

    Codes: QuestionUnknown, AnswerInvalid, PauseUnknown, ObligationNotParked.
    """

    template = "{asked_id}: {reason}"
    asked_id: str
    reason: str
    _: KW_ONLY
    code: str = ""


class SessionError(Worded):
    """A session is not used as it can be.

    Codes: SessionUnknown, SessionOver, SessionTaken, SessionBusy, SessionFull, CallUnknown,
    KeyTaken.
    """

    template = "session {session_id}: {reason}"
    session_id: str
    reason: str
    _: KW_ONLY
    code: str = ""


class SecretMissing(Worded):
    template = "no secret {name!r}; set {looked_at}"
    name: str
    looked_at: str


class NoticeUndelivered(Worded):
    template = "the channel {channel} did not take it: {reason}"
    channel: str
    reason: str
    _: KW_ONLY
    final: bool = False
    """True if another attempt would end the same way."""
    gone: bool = False
    """True if the receiver wants no further notice."""
    retry_after_s: float | None = None


class PiiMissing(Worded):
    """The vault does not hold the personal fields that a call needs."""

    fields: Sequence[str]

    def __str__(self) -> str:
        named = ", ".join(self.fields)
        return f"the PII vault holds no {named}; store it with: orchestrator pii NAME"


class PiiGone(PiiMissing):
    """The vault no longer holds the version of a personal value that a call was made with."""

    def __str__(self) -> str:
        return (
            f"the PII vault of this worker no longer holds the value of {', '.join(self.fields)} "
            "that this call means: it was purged, forgotten or kept for longer than the retention "
            "time, or the mission was started with another vault"
        )


class EventsUnreadable(Worded):
    template = (
        "the events of {workflow_id} cannot be read by this release ({reason}); read them with the "
        "release that its workers run, and go on after the same cursor"
    )
    workflow_id: str
    reason: str


class ServiceUnavailable(OrchestratorError):
    """A required service does not answer."""

    retryable = True


class ModelUnavailable(ServiceUnavailable, Worded):
    template = "the model {model} does not answer: {reason}"
    model: str
    reason: str
    remedy: str = ""
    retry_after_s: float | None = None


class ServerUnreachable(ServiceUnavailable, Worded):
    template = (
        "no Temporal server answers at {address}; start one with: orchestrator dev, "
        "or set TEMPORAL_ADDRESS"
    )
    address: str


class NoWorker(ServiceUnavailable, Worded):
    """No worker polls the task queue that has waiting tasks.

    Its code is NothingSent for a decision.
    """

    task_queue: str
    _: KW_ONLY
    build: str = ""
    """The build of the missing workers; empty if they have none."""
    waits_in: str = ""
    """The deployment in which this build exists without being current."""
    about: str = ""
    """The consequence, in a clause."""
    then: str = ""
    """The step after the remedy, in a clause."""
    code: str = ""

    def __str__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        return f"{about}{self.absence}; {self.remedy}{self.then}"

    @property
    def absence(self) -> str:
        """The worker that is missing."""
        if self.waits_in:
            return (
                f"workers of build {self.build!r} poll the task queue {self.task_queue!r}, and it "
                f"is not current of the deployment {self.waits_in!r}"
            )
        if self.build:
            return f"no worker of build {self.build!r} polls the task queue {self.task_queue!r}"
        return f"no worker polls the task queue {self.task_queue!r}"

    @property
    def remedy(self) -> str:
        """The command that helps, in a clause."""
        return f"{'make it so' if self.waits_in else 'start one'} with: {self.command}"

    @property
    def awaited(self) -> str:
        """The event that ends the wait."""
        if self.waits_in:
            return f"build {self.build!r} to be current of the deployment {self.waits_in!r}"
        of_build = f"build {self.build!r} of " if self.build else ""
        return f"a worker of {of_build}the task queue {self.task_queue!r}"

    @property
    def command(self) -> str:
        """The command that helps."""
        if self.waits_in:
            return command_lines.set_current(self.waits_in, self.build)
        return command_lines.start_worker(self.task_queue, self.build)


class NoAnswer(NoWorker):
    """A worker polls the task queue, or did until a moment ago, but did not answer in time."""

    within_s: float
    sent: str = ""
    """The request that may still be handled once a worker answers."""

    def __str__(self) -> str:
        of_build = f"build {self.build!r} of " if self.build else ""
        late = (
            f"no worker of {of_build}the task queue {self.task_queue!r} answered within "
            f"{self.within_s:g} s: all of them are busy, or the last one has just died (start one "
            f"with: {self.command})"
        )
        if not self.sent:
            return late
        return f"{late}; {self.sent} may still be taken when one answers: look before you repeat it"


class EmbedderUnavailable(ServiceUnavailable, Worded):
    template = "the embedder gives no vectors: {reason}"
    reason: str


class ApprovalKeysUnavailable(ServiceUnavailable, Worded):
    template = "the approval keys of {source} are not available: {reason}"
    source: str
    reason: str


class WorkflowStuck(ServiceUnavailable, Worded):
    """The workflow task of a mission fails each time, so nothing that is sent reaches the mission.

    Code: CancelUnheard, if the mission was asked to stop.
    """

    workflow_id: str
    attempts: int
    reason: str
    remedy: str = ""
    """A sentence, if the workflow's code is not at fault or the fault is unknown."""
    about: str = ""
    """The consequence, in a clause."""
    code: str = ""

    def __str__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        stop = command_lines.terminate(self.workflow_id)
        remedy = self.remedy or (
            "Run its workers with code that can take it, and it goes on by itself; or stop it "
            f"with: {stop}; its mission or the next sweep then rolls back what was done"
        )
        return (
            f"{about}{self.workflow_id} cannot go on: its workflow task failed {self.attempts - 1} "
            f"times ({self.reason}). {remedy}"
        )


class PayloadLocked(ServiceUnavailable, Worded):
    """A payload cannot be read here and now; its reader waits, and loses nothing."""

    UNKNOWN_HERE: ClassVar[str] = "a payload is encrypted with the key"
    template = (
        f"{UNKNOWN_HERE} {{key_id!r}}, and {{reason}}; give this process that key in "
        f"{KEYS_VARIABLE} or {KEYS_VARIABLE}_FILE"
    )
    key_id: str
    reason: str


class PayloadKeysInvalid(UsageError, Worded):
    template = (
        "{name}: {reason}; write ID:KEY, one for each key, the one that encrypts first "
        "(make one with: orchestrator key payload FILE --id ID)"
    )
    name: str
    reason: str


class StateMissing(ServiceUnavailable):
    """The state that a mission stores outside its history is not available here and now.

    The work that needs it waits visibly, and continues by itself on any worker that has it.
    """


class CatalogNotFound(StateMissing, Worded):
    retryable = True
    template = (
        "no catalog {digest:.12} is stored where this worker looks; give all workers of a task "
        "queue one store (ORCHESTRATOR_STORE), or the state folder of the worker that kept it "
        "(ORCHESTRATOR_STATE_DIR)"
    )
    digest: str


class CatalogDamaged(CatalogNotFound):
    template = (
        "the catalog {digest:.12} in {path} is damaged: {reason}; restore it, or start a worker "
        "on the documents that it was made from, which writes it again"
    )
    path: str
    reason: str


class ObservationMissing(StateMissing, Worded):
    template = (
        "what mission {mission_id} has seen is not in {place}; give this worker the store of the "
        "worker that kept it (ORCHESTRATOR_STORE, or ORCHESTRATOR_STATE_DIR), or stop it and start "
        "one that has it"
    )
    mission_id: str
    place: str


class ObservationsUnkept(StateMissing, Worded):
    template = "what mission {mission_id} has seen cannot be kept in {place}: {reason}"
    mission_id: str
    place: str
    reason: str


class SlotsTaken(StateMissing, Worded):
    template = (
        "{count} calls of {provider} or of mission {mission_id} are under way at this worker, all "
        "that may be at once; this one is sent after one of them"
    )
    provider: str
    mission_id: str
    count: int


class StoreUnavailable(StateMissing, Worded):
    template = "the store {place} cannot be used now: {reason}"
    place: str
    reason: str


class StoreUnusable(UsageError, StateMissing):
    """The store cannot be used with these settings, this key or this release.

    Codes: StoreNewer, VaultLocked.
    """


class StoreRefused(StoreUnusable, Worded):
    template = (
        "ORCHESTRATOR_STORE: {place}: {reason}; it should be "
        "postgresql://USER:PASSWORD@HOST/DATABASE"
    )
    place: str
    reason: str


class OverlayWarning(UserWarning):
    """An overlay action changed nothing: its path is mistyped, or has moved."""


class SkippedWarning(UserWarning):
    """An operation that is marked as a tool cannot be one, and was skipped."""


class UnreadWarning(UserWarning):
    """A file in a folder cannot be read as a document, and was skipped."""


class FunctionWarning(UserWarning):
    """A hint of a plain function was ignored, as its own text contradicts it."""
