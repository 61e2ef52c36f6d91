"""Trials of the rollback pairs of any documents: each tool is called, disturbed and cancelled.

Every trial is a mission on a real Temporal server, with the product's own workflows and activities;
only the planner reads a script (call this tool, then give up). The sandbox's ledger decides.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.chaos.histories import retry_transient
from orchestrator.chaos.verdicts.pair_verdict import (
    PairCase,
    Trial,
    asked,
    faults_of,
    flaws_of_contract,
    flaws_of_trial,
    no_arguments,
    not_served,
)
from orchestrator.chaos.verdicts.report import Flaw, PairCheck, PairsReport
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import ArgumentsInvalid, ConfirmationError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer
from orchestrator.messages.mission import MissionResult
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.sandbox import SandboxClient
from orchestrator.sandbox.app import DocumentMemory
from orchestrator.testing.installation import Installation, find_leftovers, installed
from orchestrator.testing.sample_arguments import make_arguments

APPROVER = "pairs@example.com"
_THINKING_AT_ONCE = 6
"""The maximum number of missions between start and approval, which load this process."""
_SETTLE_WITHIN_S = 120.0
_LOOK_S = 0.2
_LOOKS = 150

OnCheck = Callable[[PairCheck], None]


@dataclass(frozen=True)
class _Attempt:
    """A trial of a tool in one case."""

    tool: Tool
    case: PairCase
    mission_id: str
    arguments: JsonObject


async def check_pairs(
    documents: Mapping[str, JsonObject],
    folder: Path,
    *,
    seed: int = 0,
    cases: Sequence[PairCase] = tuple(PairCase),
    on_start: Callable[[int], None] = lambda total: None,
    on_check: OnCheck = lambda check: None,
) -> PairsReport:
    """Try every tool with an effect in every case.

    Args:
        documents: OpenAPI documents by name, overlays applied; no server in them is called.
        folder: for the installation's files.
        seed: of arguments and answers.
        cases: to be tried.
        on_start: called with the number of checks.
        on_check: called with each finished check.

    Raises:
        DocumentInvalid: one is not a document of a supported version.
        DocumentError: a document cannot be served.
    """
    began = time.monotonic()
    catalog = Catalog.from_documents(documents)
    found, attempts = _read(catalog, seed, cases)
    on_start(len(found) + len(attempts))
    for check in found:
        on_check(check)
    if attempts:
        async with installed(documents, folder, seed=seed) as installation:
            found += await _Trials(installation, seed).run(attempts, on_check)
    order = ["contract", *PairCase]
    found.sort(key=lambda check: (check.document, check.tool, order.index(check.case)))
    return PairsReport(
        seed=seed,
        pairs=len({check.tool for check in found}),
        checks=tuple(found),
        seconds=round(time.monotonic() - began, 1),
        ok=all(check.ok for check in found),
        skipped=catalog.skipped,
    )


def _read(
    catalog: Catalog, seed: int, cases: Sequence[PairCase]
) -> tuple[list[PairCheck], list[_Attempt]]:
    checks: list[PairCheck] = []
    attempts: list[_Attempt] = []
    for tool in catalog.tools.values():
        if tool.effect not in (Effect.OBLIGATION, Effect.WRITE):
            continue
        contract = tool.compensation
        cancel = catalog.tool(contract.cancel.tool) if contract is not None else None
        flaws = list(flaws_of_contract(tool, cancel))
        if tool.effect is Effect.OBLIGATION:
            try:
                attempts += _attempts(catalog, tool, seed, cases, first=len(attempts))
            except ArgumentsInvalid as error:
                flaws.append(no_arguments(error))
        if flaws:
            checks.append(_check(tool, "contract", flaws))
    return checks, attempts


def _attempts(
    catalog: Catalog, tool: Tool, seed: int, cases: Sequence[PairCase], *, first: int
) -> list[_Attempt]:
    found = []
    for number, case in enumerate(cases, first):
        arguments = make_arguments(catalog, tool, seed=f"{seed}:{tool.name}:{case}")
        mission_id = f"pair-{number}-{tool.name}"[:72].rstrip("-_")
        found.append(_Attempt(tool, case, mission_id, arguments))
    return found


class _Trials:
    def __init__(self, installation: Installation, seed: int) -> None:
        self._installation = installation
        self._seed = seed
        self._served = _Served(installation.sandbox.memories)
        self._thinking = asyncio.Semaphore(_THINKING_AT_ONCE)

    async def run(self, attempts: Sequence[_Attempt], on_check: OnCheck) -> list[PairCheck]:
        """Run all trials concurrently: most of their time is waiting."""
        unserved = [(a, reason) for a in attempts if (reason := self._unserved(a)) is not None]
        checks = [_check(a.tool, a.case.value, [not_served(a.tool, why)]) for a, why in unserved]
        for check in checks:
            on_check(check)
        left_out = [a for a, _ in unserved]
        attempts = [a for a in attempts if a not in left_out]
        rules = [
            rule
            for a in attempts
            for rule in faults_of(
                a.case,
                self._served.name(a.tool),
                self._served.name(self._cancel(a.tool)),
                mission_id=a.mission_id,
            )
        ]
        self._installation.sandbox.faults.replace(rules, seed=self._seed)
        async with SandboxClient(self._installation.sandbox_url) as sandbox:
            trying = [self._try(attempt, sandbox) for attempt in attempts]
            for ended in asyncio.as_completed(trying):
                check = await ended
                on_check(check)
                checks.append(check)
            return checks

    def _cancel(self, tool: Tool) -> Tool:
        name = _cancel_name(tool)
        return self._installation.catalog.tool(name) if name is not None else tool

    def _unserved(self, attempt: _Attempt) -> str | None:
        """Return why a tool or its cancel is not served; None if both are."""
        reasons = (self._served.fault(t) for t in (attempt.tool, self._cancel(attempt.tool)))
        return next((reason for reason in reasons if reason is not None), None)

    async def _try(self, attempt: _Attempt, sandbox: SandboxClient) -> PairCheck:
        async with self._thinking:
            began = time.monotonic()
            mission = await retry_transient(lambda: self._start(attempt))
            question = await self._approve(mission) if attempt.tool.needs_confirmation else None
        if question is not None:
            await mission.cancel()
            return _check(attempt.tool, attempt.case.value, [asked(attempt.tool, question)])
        result, prompts = await _ended(mission)
        effects = await sandbox.ledger(attempt.mission_id)
        left_behind = await find_leftovers(sandbox, attempt.mission_id)
        kinds = [effect["kind"] for effect in effects]
        trial = Trial(
            tool=attempt.tool,
            case=attempt.case,
            result=result,
            leftovers=frozenset(left.kind for left in left_behind),
            made=kinds.count("create"),
            cancelled=kinds.count("cancel"),
            prompts=prompts,
            cancel=self._cancel(attempt.tool),
        )
        return _check(
            attempt.tool,
            attempt.case.value,
            list(flaws_of_trial(trial)),
            mission_id=attempt.mission_id,
            made=trial.made,
            cancelled=trial.cancelled,
            prompts=prompts,
            seconds=round(time.monotonic() - began, 2),
        )

    async def _start(self, attempt: _Attempt) -> MissionHandle:
        return await self._installation.start_script(
            CallTool(tool=attempt.tool.name, arguments=attempt.arguments),
            GiveUp(reason="the trial wants a rollback"),
            mission_id=attempt.mission_id,
            policy=attempt.case.policy,
        )

    async def _approve(self, mission: MissionHandle) -> str | None:
        """Approve its call, unless the mission ends first; return a question asked instead."""
        client = self._installation.mission_client
        for _ in range(_LOOKS):
            waiting = await retry_transient(mission.waiting)
            for card in waiting.cards:
                # A slow server may have accepted the approval at the first attempt.
                with contextlib.suppress(ConfirmationError):
                    await retry_transient(partial(mission.approve, card, approver=APPROVER))
                return None
            for question in waiting.questions:
                return question.question
            if not await retry_transient(lambda: client.connection.is_running(mission.mission_id)):
                return None
            await asyncio.sleep(_LOOK_S)
        return None


class _Served:
    """The sandbox's names of the operations of tools."""

    def __init__(self, memories: Sequence[DocumentMemory]) -> None:
        self._memories = {memory.document: memory for memory in memories}

    def name(self, tool: Tool) -> str:
        """Return the sandbox's name of a tool; the tool's own if it is not served."""
        return self._memories[tool.document].names.get((tool.method, tool.path), tool.name)

    def fault(self, tool: Tool) -> str | None:
        """Return why a tool is not served; None if it is."""
        memory = self._memories[tool.document]
        if (tool.method, tool.path) in memory.names:
            return None
        pointer = format_pointer(("paths", tool.path))
        near = (skipped for skipped in memory.skipped if skipped.pointer.startswith(pointer))
        return next(map(str, near), "the sandbox does not serve it")


async def _ended(mission: MissionHandle) -> tuple[MissionResult | None, int]:
    """Return the result of a mission, or None and the number of cards that block its end.

    Its only call is approved by now, so nobody decides on a card of the rollback.
    """
    try:
        async with asyncio.timeout(_SETTLE_WITHIN_S):
            return await retry_transient(mission.result), 0
    except TimeoutError:
        return None, len(await retry_transient(mission.confirmations))


def _cancel_name(tool: Tool) -> str | None:
    return tool.compensation.cancel.tool if tool.compensation is not None else None


def _check(tool: Tool, case: str, flaws: list[Flaw], **more: Any) -> PairCheck:
    return PairCheck(
        document=tool.document,
        tool=tool.name,
        cancel=_cancel_name(tool),
        case=case,
        ok=not flaws,
        flaws=tuple(flaws),
        **more,
    )
