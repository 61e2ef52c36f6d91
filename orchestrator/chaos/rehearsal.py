"""Rehearsals: a request and its rollback, run on a private sandbox with made data.

A throw-away installation (Temporal's dev server, the sandbox, a worker) stands in for the real one.
It has the user's documents with every server replaced, no real credential, store or vault.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import Field, JsonValue

from orchestrator.catalog.catalog import Catalog, load_sources
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.start import new_mission_id
from orchestrator.client.stores import open_vault
from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.budget import Money
from orchestrator.core.errors import (
    ArgumentsInvalid,
    ConfirmationError,
    OrchestratorError,
    QuestionError,
    ServiceUnavailable,
)
from orchestrator.core.record import Record
from orchestrator.messages.mission import LEAVES_STANDING, MissionRequest, MissionResult
from orchestrator.runtime.devserver import SANDBOX_PROFILE, Ports, Stack
from orchestrator.runtime.sandboxed_documents import sandbox_credentials, write_redirected
from orchestrator.saga.obligation import ObligationState
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing.sample_arguments import make_up_person, make_value

WITHIN_S: Final = 60.0
"""The default for a whole rehearsal, its start included."""
_PILOT: Final = "rehearsal"
_OF_PLANNING: Final = re.compile(
    r"ORCHESTRATOR_(PLANNER.*|SPLIT_BY|AGENTS|EMBEDDER.*|ROUTING_.*)|(?!ORCHESTRATOR_|TEMPORAL_|OTEL_).*"
)
"""Variables that a rehearsal's worker gets: of no store, server, credential or telemetry."""
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_MADE: Final = frozenset(
    {
        ObligationState.COMMITTED,
        ObligationState.CANCELLED,
        ObligationState.PARKED,
        ObligationState.ACCEPTED,
    }
)


class RehearsedEffect(Record):
    """A consequence that the rehearsal had at the sandbox, and what became of it."""

    tool: str
    title: str
    price: Money | None = None
    cancelled_by: str = Field(default="", description="the tool that cancelled it; empty: none did")
    why_not: str = Field(default="", description="why nothing cancelled it; empty: it is cancelled")


class RehearsedQuestion(Record):
    """A question that the mission would ask, and the made answer that the rehearsal gave."""

    question: str
    answer: dict[str, JsonValue] = Field(default_factory=dict)
    is_answered: bool = Field(description="False if no made answer fits: the rehearsal ended there")


class Rehearsal(Record):
    """The consequences that a request would have, and how they are cancelled."""

    goal: str
    status: str = Field(default="", description="how the mission ended, before its rollback")
    error: str = Field(
        default="", description="why it did not reach its goal, or was not carried on"
    )
    planned_by: str = Field(default="", description="the model that planned; empty: the rules")
    effects: tuple[RehearsedEffect, ...] = ()
    questions: tuple[RehearsedQuestion, ...] = ()
    cards: int = Field(default=0, description="number of cards that people would decide on")
    left: int = Field(default=0, description="effects left at the sandbox, by its own ledger")
    seconds: float = 0.0

    @property
    def summary(self) -> str:
        """The counts in words: `4 made, 3 cancelled, 1 cannot be cancelled`."""
        cancelled = sum(not one.why_not for one in self.effects)
        kept = len(self.effects) - cancelled
        parts = [f"{len(self.effects)} made", f"{cancelled} cancelled"]
        return ", ".join([*parts, *([f"{kept} cannot be cancelled"] if kept else [])])

    @property
    def rows(self) -> tuple[tuple[str, str, str, str], ...]:
        """A row for each consequence: tool, title, price, and how it ends, for pages and tables."""
        return tuple(
            (
                one.tool,
                one.title,
                "" if one.price is None else str(one.price),
                one.why_not or f"cancelled by {one.cancelled_by}",
            )
            for one in self.effects
        )


class _Running:
    """The one rehearsal of this process: each starts a server, so they run one at a time."""

    is_busy = False


async def rehearse(
    request: MissionRequest,
    settings: Settings,
    *,
    within_s: float = WITHIN_S,
    environ: Mapping[str, str] = os.environ,
) -> Rehearsal:
    """Run a request and its rollback on a private sandbox; return what happened.

    With a model as planner the model is really asked, and costs what it costs. Cancelling the task
    ends the installation.

    Args:
        request: the request; its personal inputs are replaced by made values.
        settings: those of the real installation: its documents, overlays and planner.
        within_s: time for everything.
        environ: variables of this process.

    Raises:
        UsageError: the sandbox cannot serve the documents.
        ServiceUnavailable: another rehearsal runs in this process, or no server can be started.
    """
    if _Running.is_busy:
        raise ServiceUnavailable("another rehearsal runs here: wait until it is over")
    _Running.is_busy = True
    clock = asyncio.get_running_loop().time
    began = clock()
    rehearser = _Rehearser(request)
    try:
        with tempfile.TemporaryDirectory(prefix="orchestrator-rehearsal-") as scratch:
            try:
                async with asyncio.timeout(within_s):
                    await rehearser.run(settings, Path(scratch), environ)
            except TimeoutError:
                rehearser.error = f"the rehearsal took longer than {within_s:g} s, and was ended"
        return rehearser.report(clock() - began)
    finally:
        _Running.is_busy = False


class _Rehearser:
    """The person of a rehearsal: approves every card, and answers with made values."""

    def __init__(self, request: MissionRequest) -> None:
        self._request = request
        self._result: MissionResult | None = None
        self._status = ""
        self._questions: dict[str, RehearsedQuestion] = {}
        self._cards: set[str] = set()
        self._left = 0
        self.error = ""

    async def run(self, settings: Settings, folder: Path, environ: Mapping[str, str]) -> None:
        """Run the request, and roll back what stands after it."""
        ports = Ports.free()
        sources = load_sources(*settings.specs, overlays=settings.overlays)
        catalog = Catalog.from_documents(sources.documents)
        written = write_redirected(sources.documents, folder, port=ports.sandbox)
        person = {**make_up_person(catalog), **SANDBOX_PROFILE}
        asks_a_model = self._request.model is not None or "ORCHESTRATOR_PLANNER_MODEL" in environ
        inherited = _inherited(environ, asks_a_model=asks_a_model)
        credentials = sandbox_credentials(sources.documents)
        stack = Stack(
            folder, (written.folder,), ports, credentials=credentials, inherited=inherited
        )
        # Budget, limits and rules on spending are those of the real request.
        own = {"confirmation": ConfirmationPolicy(), "on_failure": "rollback", "same_again": None}
        request = self._request.model_copy(
            update={
                "inputs": {n: person.get(n, value) for n, value in self._request.inputs.items()},
                "policy": self._request.policy.model_copy(update=own),
                "on_failure": "rollback",
                "observe": False,
                "mission_id": new_mission_id(self._request.goal, names_goal=False),
            }
        )
        async with stack:
            _fill_vault(stack, person)
            client = await stack.client()
            async with SandboxClient(stack.sandbox_url) as sandbox:
                mission = await client.start(request)
                finish = asyncio.create_task(mission.result())
                try:
                    # Until it is over, or asks what has no made answer.
                    while not finish.done():
                        if not await self._serve(mission, stack, person):
                            await mission.cancel()
                            break
                        await asyncio.wait([finish], timeout=0.15)
                    self._result = result = await finish
                    self._status = result.status.value
                    self.error = self.error or result.error or ""
                    if result.status in LEAVES_STANDING and result.ledger.live():
                        await client.rollback(mission.mission_id, reason=_PILOT, approver=_PILOT)
                finally:
                    finish.cancel()
                    with suppress(OrchestratorError):
                        self._result = await mission.snapshot()
                self._left = len(await sandbox.live(mission.mission_id))

    async def _serve(self, mission: MissionHandle, stack: Stack, person: Mapping[str, str]) -> bool:
        """Approve the open cards and answer the open questions; False if one has no answer."""
        waiting = await mission.waiting()
        for card in waiting.cards:
            self._cards.add(card.confirmation_id)
            with suppress(ConfirmationError):  # decided meanwhile, or over the budget
                approver = f"{_PILOT}-{len(card.approved_by) + 1}"
                await mission.approve(card, approver=approver)
        for question in waiting.questions:
            if question.question_id in self._questions:
                continue
            _fill_vault(stack, {name: person.get(name, "made up") for name in question.personal})
            values: dict[str, JsonValue] = {}
            is_answered = True
            try:
                values = {name: make_value(one, name) for name, one in question.fields.items()}
                await mission.answer(question.question_id, values)
            except (QuestionError, ArgumentsInvalid):
                values, is_answered = {}, False
                self.error = f"it would ask: {question.question}"
            self._questions[question.question_id] = RehearsedQuestion(
                question=question.question, answer=values, is_answered=is_answered
            )
            if not is_answered:
                return False
        return True

    def report(self, seconds: float) -> Rehearsal:
        """Return the rehearsal as a document."""
        result = self._result
        effects = []
        for one in [] if result is None else result.ledger.obligations:
            if one.state not in _MADE:
                continue
            is_cancelled = one.state is ObligationState.CANCELLED
            effects.append(
                RehearsedEffect(
                    tool=one.tool,
                    title=one.title,
                    price=one.price,
                    cancelled_by=(one.cancel_tool or "") if is_cancelled else "",
                    why_not="" if is_cancelled else one.note or "it was not cancelled in time",
                )
            )
        return Rehearsal(
            goal=self._request.goal,
            status=self._status,
            error=self.error,
            planned_by=result.plan_made_by.model if result is not None else "",
            effects=tuple(effects),
            questions=tuple(self._questions.values()),
            cards=len(self._cards),
            left=self._left,
            seconds=round(seconds, 1),
        )


def _fill_vault(stack: Stack, values: Mapping[str, str]) -> None:
    vault = open_vault(stack.settings)
    for name, value in values.items():
        vault.put(name, value)


def _inherited(environ: Mapping[str, str], *, asks_a_model: bool) -> dict[str, str]:
    """Return the variables for the parts; a key is passed to a worker that asks a model."""
    return {
        name: value
        for name, value in environ.items()
        if _OF_PLANNING.fullmatch(name) and (asks_a_model or not _SECRET.search(name))
    }
