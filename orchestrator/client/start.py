"""Starts missions once per id, without personal values in their histories, and previews plans."""

import asyncio
import contextlib
import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, FailureError, WorkflowAlreadyStartedError
from temporalio.exceptions import TimeoutError as WorkflowTimeout
from temporalio.service import RPCError

from orchestrator.adapters.temporal.search_attributes import search_attributes
from orchestrator.client.connection import PICK_UP, Connection, check_request
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.obstacles import no_answer
from orchestrator.client.stores import open_vault
from orchestrator.core import errors
from orchestrator.core.budget import check_currencies
from orchestrator.core.errors import UsageError
from orchestrator.core.pii import Handle, bare_personal, handle_for, handle_of
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import markdown_summary, visible_block
from orchestrator.json_schema.references import FILES_KEY
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.messages import names
from orchestrator.messages.mission import (
    MissionInput,
    MissionRequest,
    MissionStatus,
    request_digest,
)
from orchestrator.messages.mission_policy import check_new, check_not_widened
from orchestrator.planning.models import input_names_of
from orchestrator.settings import Settings, load_policy

if TYPE_CHECKING:  # only previews and inputs need them
    from orchestrator.adapters.storage.sql_vault import SqlVault
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.messages.plan_preview import PlanPreview

_PLAN_TAKEN_UP: Final = timedelta(seconds=20)
"""How long a worker may take to start a preview, as a dead worker may just be replaced."""
_LONGEST_PLAN: Final = timedelta(minutes=10)
"""Twice a planner's time limit, to include a worker that takes over."""

_DIGEST_MEMO: Final = "request"
"""The memo key for the digest of the request, so that a comparison needs no worker."""


def mission_start(request: MissionRequest) -> dict[str, Any]:
    """Return the start options of a mission whose request has an id."""
    mission_id = _id_of(request)
    return {
        "id": mission_id,
        "id_reuse_policy": WorkflowIDReusePolicy.REJECT_DUPLICATE,
        "search_attributes": search_attributes(
            mission_id, MissionStatus.PLANNING, requester=request.requester
        ),
        "memo": {"goal": visible_block(request.goal), _DIGEST_MEMO: request_digest(request)},
        "static_summary": markdown_summary(request.goal),
    }


@dataclass(frozen=True)
class BroughtInputs:
    """The inputs of a start as they may enter history, and the values for the vault."""

    inputs: JsonObject
    values: dict[str, str]
    """Values of personal fields, to be stored for the mission."""
    undeclared: tuple[str, ...]
    """Inputs that no tool of the catalog takes."""


class Starter:
    """Starts missions by update-with-start; keeps only the compiled catalog between two calls."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._compiled: tuple[tuple[tuple[str, int, int], ...], Catalog] | None = None

    async def start(self, request: MissionRequest) -> MissionHandle:
        """Start a mission; on return, it is on the server. See `MissionClient.start`."""
        request, brought = await self.completed(request)
        async with self._kept(request, brought):
            is_running = await self._enqueue(request)
        queued = ""
        if is_running:
            try:
                await self._connection.await_poller()
                await self._connection.taken_up(_id_of(request), within=PICK_UP)
            except errors.NoWorker as absence:
                queued = str(absence)
        return MissionHandle(
            self._connection, _id_of(request), undeclared_inputs=brought.undeclared, queued=queued
        )

    @contextlib.asynccontextmanager
    async def _kept(self, request: MissionRequest, brought: BroughtInputs) -> AsyncIterator[None]:
        """Store the personal values of a request before it is sent; remove them if it is refused.

        They are stored under the mission's own id and for this request: values of another mission,
        or of another request under the same id, are not touched. A crash in between leaves values
        that nothing refers to; retention removes them.
        """
        if not brought.values:
            yield
            return
        vault, scope, claim = open_vault(self._settings), _id_of(request), request_digest(request)
        await asyncio.to_thread(vault.bring, scope, brought.values, claim=claim)
        try:
            yield
        except errors.MissionIdTaken:
            await asyncio.to_thread(vault.release, scope, claim=claim)
            raise

    async def _enqueue(self, request: MissionRequest) -> bool:
        """Start a mission without a worker; return True if it runs, and False if it is over."""
        start = {**mission_start(request), "task_queue": self._settings.task_queue}
        try:
            with self._connection.explaining():
                await self._connection.temporal.start_workflow(
                    names.MISSION_WORKFLOW,
                    MissionInput(request=request),
                    id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                    **start,
                )
            return True
        except WorkflowAlreadyStartedError:
            mission_id, digest = _id_of(request), request_digest(request)
            there = await self._connection.describe(mission_id)
            if await there.memo_value(_DIGEST_MEMO, None) != digest:
                raise errors.MissionIdTaken(
                    f"a mission {mission_id!r} exists, with another goal, other inputs, another "
                    "budget or another requester; choose another id"
                ) from None
            return there.status is WorkflowExecutionStatus.RUNNING
        except errors.NoAnswer as late:  # no worker was involved, so the server is the cause
            host = self._connection.temporal.service_client.config.target_host
            raise errors.ServerUnreachable(host) from late

    async def completed(
        self, request: MissionRequest, *, pins: bool = True
    ) -> tuple[MissionRequest, BroughtInputs]:
        """Return the request as it may enter history, with an id; nothing is stored yet.

        With `pins`, handles name the mission's own values, which resolve once these are stored.
        """
        check_new(request.goal, request.policy)
        check_currencies(request)
        if request.workflow is not None:
            from orchestrator.planning.written_steps import parsed  # few missions need it

            parsed(request.workflow)  # what it refuses, such as a credential, never enters history
        await check_request(self._connection.temporal, request)
        mission_id = request.mission_id or new_mission_id(
            request.goal, names_goal=not self._settings.encrypts
        )
        policy = request.policy
        of_settings = load_policy(self._settings.mission_policy)
        if of_settings is not None:
            if "policy" in request.model_fields_set:
                # The worker checks it again, against its own settings.
                check_not_widened(policy, of_settings)
            else:
                policy = of_settings
        check_currencies(policy)
        if request.call is not None and request.call.arguments:
            catalog = await asyncio.to_thread(self._catalog)
            check_call(request.call.tool, request.call.arguments, catalog)
        brought = BroughtInputs({}, {}, ())
        if request.inputs:
            brought = await asyncio.to_thread(
                lambda: separate_personal(
                    request.inputs,
                    self._catalog(),
                    open_vault(self._settings),
                    mission_id=mission_id,
                    pins=pins,
                )
            )
        if request.workflow is not None:
            declared = input_names_of(request.workflow)
            left = tuple(name for name in brought.undeclared if name not in declared)
            brought = replace(brought, undeclared=left)
        update = {"policy": policy, "inputs": brought.inputs, "mission_id": mission_id}
        return request.model_copy(update=update), brought

    def _catalog(self) -> "Catalog":
        """Return the catalog as its files are now; compile it if one has changed.

        A document that includes other files is compiled at each start: they may lie anywhere.
        """
        from orchestrator.catalog.catalog import Catalog  # compiles documents
        from orchestrator.catalog.source import file_versions

        specs, overlays = self._settings.specs, self._settings.overlays
        versions = file_versions((*specs, *overlays))
        if self._compiled is not None and self._compiled[0] == versions:
            return self._compiled[1]
        catalog = Catalog.load(*specs, overlays=overlays)
        is_whole = not any(FILES_KEY in one for one in catalog.documents.values())
        self._compiled = (versions, catalog) if is_whole else None
        return catalog


def _id_of(request: MissionRequest) -> str:
    assert request.mission_id is not None
    return request.mission_id


def new_mission_id(goal: str, *, names_goal: bool = True) -> str:
    """Return a readable id: the goal's first word, if it is a known verb, and random characters.

    Other words are left out: ids reach logs, traces and providers, and any word may be a name.
    """
    from orchestrator.language.words import is_verb  # reads word lists

    first = next(iter(re.findall(r"[a-z]+", goal.lower())), "")
    verb = first if names_goal and is_verb(first) else "mission"
    return f"{verb}-{secrets.token_hex(5)}"


# -- previews of plans -----------------------------------------------------------------------------


async def preview_plan(
    connection: Connection, starter: Starter, request: MissionRequest
) -> "PlanPreview":
    """Return the plan for this request. See `MissionClient.plan`.

    A worker plans in a separate workflow type. The run stays in the server's history with the
    request as a mission's start would record it: with handles in place of personal values.
    """
    from orchestrator.messages.plan_preview import PlanInput, PlanPreview

    request, brought = await starter.completed(request, pins=False)
    # The random part of a generated id does not belong to the request.
    wanted = PlanInput(request=request.model_copy(update={"mission_id": None}))
    await connection.await_poller()
    workflow_id = names.plan_workflow_id(
        hashlib.sha256(wanted.request.model_dump_json().encode()).hexdigest()
    )
    with connection.explaining():
        running = await connection.temporal.start_workflow(
            names.PLAN_WORKFLOW,
            wanted,
            id=workflow_id,
            task_queue=connection.task_queue,
            # Two simultaneous requests are planned once; a later one is planned again.
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            execution_timeout=_LONGEST_PLAN,
            static_summary=markdown_summary(request.goal),
            result_type=PlanPreview,
        )
        try:
            await connection.taken_up(workflow_id, within=_PLAN_TAKEN_UP)
            preview: PlanPreview = await running.result()
        except errors.NoAnswer:
            with contextlib.suppress(RPCError):
                await running.terminate("no worker has taken it up")
            raise
        except WorkflowFailureError as failure:
            cause: BaseException | None = failure.cause
            while isinstance(cause, FailureError) and not isinstance(
                cause, ApplicationError | WorkflowTimeout
            ):
                cause = cause.cause
            if isinstance(cause, WorkflowTimeout):
                waited = _LONGEST_PLAN.total_seconds()
                raise no_answer(connection.task_queue, waited) from failure
            why = cause.message if isinstance(cause, ApplicationError) else str(cause or failure)
            raise errors.PlanError(why, code="PlanRefused") from failure
    return preview.model_copy(update={"undeclared_inputs": brought.undeclared})


def check_call(tool: str, arguments: JsonObject, catalog: "Catalog") -> None:
    """Refuse a call with a personal value in the open, before it enters history.

    A tool that this catalog lacks is left to the worker.

    Raises:
        UsageError: it names the field, or a file that may declare personal fields cannot be read.
    """
    _check_read(catalog)
    known = catalog.tools.get(tool)
    for name in bare_personal(arguments, known.pii_fields) if known is not None else ():
        raise UsageError(
            f"{name} of {tool} is personal, and its value would be kept in histories in the open: "
            f"store it in the vault, and give its handle {handle_for(name)}"
        )


def _check_read(catalog: "Catalog") -> None:
    if catalog.unread:
        unread = "; ".join(map(str, catalog.unread))
        raise UsageError(f"the personal inputs are unknown, since a file is unreadable: {unread}")


def separate_personal(
    inputs: JsonObject, catalog: "Catalog", vault: "SqlVault", *, mission_id: str, pins: bool = True
) -> BroughtInputs:
    """Return the inputs with a handle for each personal value; nothing is stored yet.

    Without `pins`, handles reveal nothing of the values, and no key of the vault is needed or made.

    Raises:
        UsageError: an input that no tool takes looks personal or like the name of a personal field,
            a handle refers to another mission's value, or a file that may declare personal fields
            cannot be read.
    """
    _check_read(catalog)
    personal = {name for tool in catalog.tools.values() for name in tool.pii_fields}
    declared = {
        name
        for tool in catalog.tools.values()
        for schema in walk(tool.input_schema)
        for name in properties_of(schema)
    }
    undeclared = tuple(sorted(set(inputs) - personal - declared))
    # A field that only a skipped operation declares is personal too.
    personal |= {name for operation in catalog.skipped for name in operation.personal}
    for name in sorted({*undeclared} - personal):
        _check_undeclared(name, inputs, personal)
    handles = {name: handle for name, v in inputs.items() if (handle := handle_of(v)) is not None}
    for name, handle in handles.items():
        held = vault.find(handle) if handle.version else None
        if held is not None and held.scope not in ("", mission_id):
            raise UsageError(
                f"{name} names a value that the mission {held.scope} was started with; "
                f"give the value, or {Handle(handle.field)} for the vault's own"
            )
    values: dict[str, str] = {}
    for name in personal & set(inputs) - handles.keys():
        value = inputs[name]
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise UsageError(f"{name} is a personal field: give its value as text, or its handle")
        values[name] = str(value)
    pinned = {name: Handle(name) for name in values}
    if pins and values:
        pinned = vault.handles_of(mission_id, values)
    kept = {**inputs, **{name: str(handle) for name, handle in pinned.items()}}
    return BroughtInputs(kept, values, undeclared)


def _check_undeclared(name: str, inputs: JsonObject, personal: Iterable[str]) -> None:
    """Refuse an input whose name or value looks personal, as it would be recorded unencrypted."""
    from rapidfuzz.distance import DamerauLevenshtein

    from orchestrator.core.personal_look import personal_look  # loads tables of phone numbers

    near = None
    for field in sorted(personal):
        most = 1 if len(field) < 6 else 2
        plain, wanted = (text.lower().replace("-", "_") for text in (name, field))
        if DamerauLevenshtein.distance(plain, wanted, score_cutoff=most) <= most:
            near = field
            break
    named, look = personal_look(name), personal_look(inputs[name])
    if not near and not named and not look:
        return
    which = "one of the inputs" if named else f"an input {name!r}"
    why = f"its value looks like {look}" if look else f"it reads like the personal field {near}"
    if named:
        why = f"its name looks like {named}"
    hint = f"did you mean {near}? Name" if near else "name"
    raise UsageError(
        f"no tool takes {which}, and {why}, so it would be kept in histories in the "
        f"open; {hint} the input that a tool takes, and let its document list it in "
        "x-orchet-pii-required"
    )
