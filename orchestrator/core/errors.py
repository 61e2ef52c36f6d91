"""Every error of the product, in one tree, and the one warning.

Those that are `Worded` are made of fields; the others take a sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Final, dataclass_transform

from orchestrator.core import command_lines

SET_A_MODEL: Final = (
    "set a model where the worker runs (ORCHESTRATOR_PLANNER_MODEL=openai:gpt-5, or a local "
    "server: OLLAMA_BASE_URL=http://127.0.0.1:11434/v1 "
    "ORCHESTRATOR_PLANNER_MODEL=ollama:qwen3:32b)"
)
"""The remedy for a goal that rules do not carry out; questions and help say it in these words."""
IN_PLAIN_STEPS: Final = (
    "rules carry out plain goals in English, one thing a sentence; for free text, " + SET_A_MODEL
)


class OrchestratorError(Exception):
    """The base: its text is one sentence that says what is wrong and what to do about it.

    `error_named` makes an error again from its `details`, where it arrives.
    """

    retryable: ClassVar[bool] = False
    """Whether the same work may succeed later, or on another worker."""

    @property
    def details(self) -> dict[str, Any]:
        """What it was made of, by field."""
        return dict(vars(self))


@dataclass_transform(eq_default=False)
class Worded(OrchestratorError):
    """The base of errors that are made of fields: a subclass declares them like a dataclass."""

    template: ClassVar[str]
    """The text, with the fields in braces."""

    def __init_subclass__(cls) -> None:
        """Make the constructor of the fields."""
        dataclass(eq=False)(cls)

    def __post_init__(self) -> None:
        """Hold tuples, whether a caller made lists or JSON did."""
        vars(self).update({k: tuple(v) for k, v in vars(self).items() if isinstance(v, list)})

    def __str__(self) -> str:
        return self.template.format(**vars(self))


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
    """The caller asked for something that cannot be: a bad flag, amount or id."""


class ProfilesInvalid(UsageError, Worded):
    """A file of agent profiles that was read and is wrong; each fault is a sentence."""

    path: str
    faults: Sequence[str]

    def __str__(self) -> str:
        more = len(self.faults) - 1
        see = f" ({more} more; see: orchestrator agents check {self.path})" if more else ""
        return f"{self.path}: {self.faults[0]}{see}"


class MissionIdTaken(UsageError, Worded):
    """A mission with that id exists, and was asked for something else."""

    template = (
        "a mission {mission_id!r} exists, with another goal, other inputs, another budget or "
        "another requester; choose another id"
    )
    mission_id: str


class MessageTooLarge(UsageError, Worded):
    """What a mission was to be given is larger than it can carry; nothing was sent."""

    what: str
    size: int
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.what} is {self.size / 1e6:.1f} MB large, and at most {self.limit / 1e6:.1f} MB "
            "are taken, for every step carries it on; give a reference, such as an id or a URL, in "
            "place of the content"
        )


class CurrencyUnknown(UsageError, Worded):
    """An amount of money in a currency that does not exist."""

    template = (
        "{currency!r} is no currency of ISO 4217, so nothing can be paid in it; write a code such "
        "as EUR, USD or JPY"
    )
    currency: str


class MissionNotFound(UsageError, Worded):
    """The server knows no mission with that id."""

    template = "no mission {mission_id!r}; see: orchestrator mission list"
    mission_id: str


class FileUnknown(UsageError, Worded):
    """A handle of a file that a mission has not received, or that is no longer kept."""

    template = (
        "mission {mission_id} has no file {handle}; its answers and its results name what it has, "
        "for as long as what it has seen is kept (ORCHESTRATOR_PII_RETENTION)"
    )
    mission_id: str
    handle: str


class PolicyWidened(UsageError):
    """A mission whose own policy allows what the policy of the worker does not."""


class PauseUnknown(UsageError, Worded):
    """A word on a leg that does not wait for its model, or no longer."""

    template = "{pause_id}: {reason}; see: orchestrator mission list"
    pause_id: str
    reason: str


class ModelUnusable(UsageError, Worded):
    """A model that cannot be asked where the leg runs; the leg goes on waiting."""

    template = "the model {model} cannot be used here: {reason}"
    model: str
    reason: str


class RequesterMissing(UsageError):
    """A mission that does not say who asks for it, where a policy goes by that."""


class ObligationNotParked(UsageError, Worded):
    """An operator's decision on an obligation that its rollback does not wait for."""

    template = "{obligation_id} is not parked in this rollback{reason}"
    obligation_id: str
    reason: str = ""


class Unowned(OrchestratorError):
    """A workflow, or a call, that belongs to no mission which says that it is its own."""


class LegUnowned(Unowned, Worded):
    """A leg that its mission did not start, or not with these terms."""

    template = "{leg_workflow} is no leg of a mission: {reason}; legs are started by missions alone"
    leg_workflow: str
    reason: str


class CallUnowned(Unowned, Worded):
    """A call, or what takes one back, that comes from elsewhere than the workflow it names."""

    template = "{call_id} was not sent: {reason}"
    call_id: str
    reason: str


class RollbackMisnamed(Unowned, Worded):
    """A rollback under another id than the one that a mission's rollback has."""

    template = "the rollback of {mission_id} has the id {rollback_id}, so that it runs once"
    mission_id: str
    rollback_id: str


class MissionStillRuns(Unowned, Worded):
    """A rollback that somebody started beside a mission that is under way."""

    template = (
        "mission {mission_id} still runs; cancel it and it undoes itself: "
        "orchestrator mission cancel {mission_id}"
    )
    mission_id: str


class MissionUnknown(Unowned, Worded):
    """A rollback of a mission that the server does not know, and of which no leg is found."""

    template = "there is no mission {mission_id!r}, and no leg of one: nothing can be rolled back"
    mission_id: str


class MissionMisnamed(Unowned, Worded):
    """A mission under an id that is, or looks like, that of a leg or a rollback."""

    template = (
        "{mission_id!r} is no id of a mission: letters, digits, '-' and '_', at most 80 of them"
    )
    mission_id: str


class SpecError(OrchestratorError):
    """A document or catalog is at fault."""


class DocumentUnreadable(SpecError, Worded):
    """A file that is missing, or is neither JSON nor YAML."""

    template = "{path} cannot be read: {reason}"
    path: str
    reason: str


class DocumentInvalid(SpecError, Worded):
    """A document that was read and cannot be compiled; `pointer` is an RFC 6901 JSON pointer."""

    document: str
    pointer: str
    reason: str
    remedy: str = ""
    """What would mend it, where more can be said than to correct the place."""

    def __str__(self) -> str:
        mended = f"; {self.remedy}" if self.remedy else ""
        return f"{self.document} at {self.pointer or '/'}: {self.reason}{mended}"


class ToolNotFound(SpecError, Worded):
    """The catalog has no such tool."""

    name: str
    near: Sequence[str] = ()
    skipped: str = ""
    """Why the documents' operation of that name is none."""

    def __str__(self) -> str:
        if self.skipped:
            return self.skipped
        hint = (
            f"did you mean {', '.join(self.near)}?" if self.near else "see: orchestrator tools list"
        )
        return f"no tool is called {self.name!r}; {hint}"


class PlanError(OrchestratorError):
    """A plan or a planner's decision is at fault."""


class NothingFits(PlanError, Worded):
    """No tool of the catalog can do what the text asks."""

    template = (
        "no tool fits {text!r}; name what the tools can do (see: orchestrator tools list): "
        + IN_PLAIN_STEPS
    )
    text: str


class NothingAllowed(PlanError, Worded):
    """The tool that a part of the goal needs is outside what every agent may touch."""

    template = (
        "{text!r} needs {tool}, which no agent may use; allow it to one of them: its name under "
        "`tools`, or {domain} under `domains` (ORCHESTRATOR_AGENTS)"
    )
    text: str
    tool: str
    domain: str


class TooMany(PlanError, Worded):
    """A goal asks for more of a kind than an agent does one by one; nothing was done."""

    template = (
        "the goal asks for {what}, more than the agent {agent} does of a kind, one by one; "
        "ask for fewer, or raise its `max_items` (ORCHESTRATOR_AGENTS)"
    )
    what: str
    agent: str


class LanguageUnread(PlanError, Worded):
    """A goal, or a sentence of it, that is to be planned without a model is not English."""

    template = (
        "{text!r} reads as {language}, and planning by rules reads English; say it in "
        "English, with texts that are passed on word for word between quotation marks, or "
        + SET_A_MODEL
    )
    text: str
    language: str


class RequestUnread(PlanError, Worded):
    """The router failed on a request that is to be planned without a model."""

    template = (
        "the request could not be read: {reason}; report this as a defect of the router, or "
        + SET_A_MODEL
    )
    reason: str


class PlanInvalid(PlanError):
    """Legs that repeat an id, depend on no leg, run in a circle, or pass their agent's wall."""


class DecisionInvalid(PlanError):
    """A planner's step that names a tool it was not shown, or that cannot be carried out."""


class OutsideWall(DecisionInvalid):
    """A planner's call of a tool that the profile of its agent does not allow."""


class MissionRefused(PlanError, Worded):
    """A mission that could not be planned; nothing was done."""

    template = "{mission_id}: {reason}"
    mission_id: str
    reason: str


class PlanRefused(PlanError, Worded):
    """A goal that cannot be planned, where a plan was only to be shown; nothing was done."""

    template = "{reason}"
    reason: str


class ModelRefused(PlanError, Worded):
    """A model's provider that will not serve the request: credentials, quota, size or content."""

    model: str
    reason: str
    remedy: str = ""
    retry_after_s: float | None = None

    def __str__(self) -> str:
        helps = f"; {self.remedy}" if self.remedy else ""
        return f"the model {self.model} cannot plan this step: {self.reason}{helps}"


class ToolError(OrchestratorError):
    """A tool call is at fault."""


class ArgumentsInvalid(ToolError, Worded):
    """Arguments that break the tool's contract; nothing was sent."""

    tool: str
    problems: Sequence[str]

    def __str__(self) -> str:
        return f"{self.tool}: {'; '.join(self.problems)}"


class EgressRefused(ToolError, Worded):
    """A request to a host that may not be called; nothing was sent there."""

    template = "{tool}: {host} {reason}"
    tool: str
    host: str
    reason: str = "is not a server that its document declares"


class TokenRefused(ToolError, Worded):
    """A token endpoint gave no token; nothing was done by the tool that needed it."""

    template = (
        "{tool}: its token endpoint refused the client of {secret!r}: {reason}; check the "
        "secrets {secret}__client_id and {secret}__client_secret"
    )
    tool: str
    secret: str
    reason: str


class DeadlinePassed(ToolError, Worded):
    """A side effect that was not sent before its deadline: a rollback may be under way by now."""

    template = "{tool}: its deadline has passed; nothing was sent"
    tool: str


class TransportFailed(ToolError, Worded):
    """No answer; `may_have_arrived` tells whether the provider may have acted all the same."""

    template = "{tool}: {reason}"
    tool: str
    reason: str
    _: KW_ONLY
    may_have_arrived: bool


class ConfirmationError(Worded):
    """A decision or a grant is at fault."""

    template = "{confirmation_id}: {reason}"
    confirmation_id: str
    reason: str


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


class SignatureRefused(ConfirmationError):
    """The decision is not signed, or not by a key that is trusted here, or for something else."""


class AmendmentInvalid(ConfirmationError):
    """The amended arguments break the tool's contract; the card stays as it was."""


class PersonalValueSent(ConfirmationError):
    """An amendment carried a personal value where only its handle may stand."""


class GrantMissing(ConfirmationError):
    """A call that needs a grant came without one that matches what it is about to send."""


class GrantUsed(ConfirmationError):
    """A call came with a grant that was used for a call before."""


class GrantRefused(ConfirmationError):
    """A call came with a grant that those who gave it may not give, by the worker's policy."""


class QuestionError(Worded):
    """An answer to a question of a leg, or of a mission about its plan, is at fault."""

    template = "{question_id}: {reason}"
    question_id: str
    reason: str


class QuestionUnknown(QuestionError):
    """No such question is open."""


class AnswerInvalid(QuestionError):
    """The answer is not what was asked for; the question stays open."""


class SecretMissing(Worded):
    """A credential that a document declares and nobody configured."""

    template = "no secret {name!r}; set {looked_at}"
    name: str
    looked_at: str


class PiiMissing(Worded):
    """A personal field that a call needs and the vault does not hold."""

    fields: Sequence[str]

    def __str__(self) -> str:
        named = ", ".join(self.fields)
        return f"the PII vault holds no {named}; store it with: orchestrator pii set"


class PiiGone(PiiMissing):
    """The very value of a personal field that a call was made with is not in the vault."""

    def __str__(self) -> str:
        named = ", ".join(self.fields)
        return (
            f"the PII vault of this worker no longer holds the value of {named} that this call "
            "means: it was purged, forgotten or kept for longer than the retention time, or the "
            "mission was started beside another vault"
        )


class ServiceUnavailable(OrchestratorError):
    """Something we need does not answer."""

    retryable = True


class ServerUnreachable(ServiceUnavailable, Worded):
    """No Temporal server at the address."""

    template = (
        "no Temporal server answers at {address}; start one with: orchestrator dev, "
        "or set TEMPORAL_ADDRESS"
    )
    address: str


class ServerRefused(UsageError, Worded):
    """The Temporal server answers, and does not let us in: waiting does not mend that."""

    template = (
        "the Temporal server at {address} does not let us in; give it the right key or certificate "
        "(TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH)"
    )
    address: str


class NoWorker(ServiceUnavailable, Worded):
    """Nobody polls the task queue who would take what waits there, for ever."""

    task_queue: str
    _: KW_ONLY
    build: str = ""
    """The build of the workers that it is about; '' where they tell none."""
    waits_in: str = ""
    """The deployment that this build is there in and is not current of."""

    def __str__(self) -> str:
        return f"{self.absence}; {self.remedy}"

    @property
    def absence(self) -> str:
        """Who is missing."""
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
        """What to do about it."""
        return f"{'make it so' if self.waits_in else 'start one'} with: {self.command}"

    @property
    def awaited(self) -> str:
        """What is waited for."""
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
    """Somebody polls the task queue, or did until a moment ago, and nobody answered in time."""

    within_s: float
    sent: str = ""
    """What was sent, where it may still be taken once somebody answers."""

    def __str__(self) -> str:
        of_build = f"build {self.build!r} of " if self.build else ""
        said = (
            f"no worker of {of_build}the task queue {self.task_queue!r} answered within "
            f"{self.within_s:g} s: "
            "all of them are busy, or the last one has just died (start one with: "
            f"{self.command})"
        )
        if not self.sent:
            return said
        return f"{said}; {self.sent} may still be taken when one answers: look before you repeat it"


class NothingSent(NoWorker):
    """What people decide, where nobody is there to take it: it was not sent."""

    about: str

    def __str__(self) -> str:
        return (
            f"nothing was decided about {self.about}: {self.absence}; {self.remedy}, "
            "then decide again"
        )


class LegUnasked(NoWorker):
    """A leg that waits for a person, and that could not be asked for what."""

    leg: str
    reason: str

    def __str__(self) -> str:
        return f"{self.leg} could not be asked what it waits for: {self.reason}"


class MissionQueued(NoWorker):
    """A mission that was started, and that no worker has taken up yet."""

    mission_id: str

    def __str__(self) -> str:
        return (
            f"{self.mission_id} is queued: no worker of the task queue {self.task_queue!r} has "
            f"taken it up yet; it starts when one does ({self.command}), and the same "
            "request again tells its plan"
        )


class ModelUnavailable(ServiceUnavailable, Worded):
    """A model that does not answer now; another attempt may reach it."""

    model: str
    reason: str
    remedy: str = ""
    retry_after_s: float | None = None

    def __str__(self) -> str:
        helps = f"; {self.remedy}" if self.remedy else ""
        return f"the model {self.model} does not answer: {self.reason}{helps}"


class MissionSilent(ServiceUnavailable, Worded):
    """A mission that could not be asked about a leg of its own; nothing was sent meanwhile."""

    template = "the mission {mission_id} could not be asked about its leg {leg_id}: {reason}"
    mission_id: str
    leg_id: str
    reason: str


class EmbedderUnavailable(ServiceUnavailable, Worded):
    """An embedder that has no vectors for the router now; `reason` holds nothing of a request."""

    template = "the embedder gives no vectors: {reason}"
    reason: str


class ApprovalKeysUnavailable(ServiceUnavailable, Worded):
    """The keys with which decisions are proved cannot be had now; nothing is approved meanwhile."""

    template = "the approval keys of {source} cannot be had: {reason}"
    source: str
    reason: str


class LegsRunning(ServiceUnavailable, Worded):
    """A leg has not stopped yet, so what it leaves is not known; it was asked to stop."""

    template = "the leg {leg_id} has not stopped yet"
    leg_id: str


class EventsUnreadable(Worded):
    """A history that this release's code cannot replay, so that its events cannot be told."""

    template = (
        "the events of {workflow_id} cannot be read by this release ({reason}); read them with the "
        "release that its workers run, and go on after the same cursor"
    )
    workflow_id: str
    reason: str


class QueryFailed(ServiceUnavailable, Worded):
    """A workflow that cannot be read: its worker failed to replay it."""

    workflow_id: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.workflow_id} cannot be read ({' '.join(self.reason.split())}); it goes on or "
            "waits in Temporal: run the workers with the code that it was started with, and ask "
            "again"
        )


class WorkflowStuck(ServiceUnavailable, Worded):
    """A mission or a leg whose workflow task fails each time: nothing that is sent reaches it."""

    workflow_id: str
    attempts: int
    reason: str
    remedy: str = ""
    """A sentence: what helps where its code is not at fault, or where that is not known."""

    def __str__(self) -> str:
        told = (
            f"{self.workflow_id} cannot go on: its workflow task failed {self.attempts - 1} times "
            f"({self.reason})"
        )
        if self.remedy:
            return f"{told}. {self.remedy}"
        return (
            f"{told}. Run its workers with code that can take it, and it goes on by "
            f"itself; or stop it with: {command_lines.terminate(self.workflow_id)}; what was done "
            "is then undone, by its mission or by the next sweep"
        )


class CancelUnheard(WorkflowStuck):
    """A mission was asked to stop, and cannot: the request waits for it with the server."""

    def __str__(self) -> str:
        asked = "the request to stop waits with the server, and nothing has stopped"
        return f"{asked}: {super().__str__()}"


class RunReplayed(QueryFailed):
    """A worker sent a query back while it replays the run: asked again, it answers."""


class StateLacking(ServiceUnavailable):
    """What a mission keeps outside its history cannot be had here and now; nothing is lost for it.

    Whatever needs it waits where it can be seen, and goes on by itself, on any worker that has it.
    """


class CatalogNotFound(SpecError, StateLacking, Worded):
    """No catalog with that digest is stored where this worker looks."""

    template = (
        "no catalog {digest:.12} is stored where this worker looks; give all workers of a task "
        "queue one store (ORCHESTRATOR_STORE), or the state folder of the worker that kept it "
        "(ORCHESTRATOR_STATE_DIR)"
    )
    retryable = True
    digest: str


class CatalogDamaged(CatalogNotFound):
    """What is stored of a catalog was cut off or changed."""

    template = (
        "the catalog {digest:.12} in {path} is damaged: {reason}; bring it back, or start a worker "
        "on the documents that it was made from, which writes it anew"
    )
    path: str
    reason: str


class ObservationMissing(StateLacking, Worded):
    """What a leg has seen is not where this worker looks: the leg waits for one that has it."""

    template = (
        "what mission {mission_id} has seen is not in {place}; give this worker the store of the "
        "worker that kept it (ORCHESTRATOR_STORE, or ORCHESTRATOR_STATE_DIR), or stop it and start "
        "one that has it"
    )
    mission_id: str
    place: str


class ObservationsUnkept(StateLacking, Worded):
    """What a leg has seen cannot be kept now: the leg waits until it can."""

    template = "what mission {mission_id} has seen cannot be kept in {place}: {reason}"
    mission_id: str
    place: str
    reason: str


class StoreUnavailable(StateLacking, Worded):
    """The store does not answer, or takes nothing; `reason` holds no password."""

    template = "the store {place} cannot be used now: {reason}"
    place: str
    reason: str


class StoreRefused(UsageError, StateLacking, Worded):
    """What ORCHESTRATOR_STORE says is no store, or one that does not let us in."""

    template = "ORCHESTRATOR_STORE: {place}: {reason}; it should be postgresql://USER:PASSWORD@HOST/DATABASE"
    place: str
    reason: str


class StoreNewer(UsageError, StateLacking, Worded):
    """A newer release has changed the tables of the store so that this one cannot use them."""

    template = (
        "the store {place} is of a newer release (schema {found}, this one knows {known}); install "
        "that release here, or restore the store as it was before"
    )
    place: str
    found: str
    known: str


class StoreDiffers(UsageError, Worded):
    """A store that already holds other things under the keys of what was to be copied into it."""

    template = (
        "{place} holds something else under the same keys ({what}), and nothing is overwritten; "
        "name an empty database, or let the store that has gone on be the one that you keep"
    )
    place: str
    what: str


class NotReserved(Worded):
    """A call whose leg was told that money was set aside for it, which its mission did not do."""

    template = (
        "{call_id}: its mission has not set {price} of its budget aside; nothing was sent, and the "
        "call has to be planned again"
    )
    call_id: str
    price: str


class OverlayWarning(UserWarning):
    """An action of an overlay changed nothing: a path that was mistyped, or that has moved."""


class SkippedWarning(UserWarning):
    """An operation that is marked as a tool cannot be one, and was left out."""


class UnreadWarning(UserWarning):
    """A file of a folder cannot be read as a document, and was left out."""


class FunctionWarning(UserWarning):
    """A hint of a plain function was not believed, as its own words say otherwise."""
