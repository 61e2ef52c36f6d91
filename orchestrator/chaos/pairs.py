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
    NOT_JUDGED,
    PairCase,
    Trial,
    faults_of,
    flaws_of_contract,
    flaws_of_trial,
)
from orchestrator.chaos.verdicts.report import Flaw, PairCheck, PairsReport
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import ArgumentsInvalid, ConfirmationError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.sandbox import FaultRule, SandboxClient
from orchestrator.testing.installation import Installation, find_leftovers, installed
from orchestrator.testing.sample_arguments import make_arguments

APPROVER = "pairs@example.com"
_THINKING_AT_ONCE = 6
"""The maximum number of missions between start and approval, which load this process."""
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
        try:
            made = []
            for number, case in enumerate(cases, len(attempts)):
                if tool.effect is Effect.OBLIGATION:
                    arguments = make_arguments(catalog, tool, seed=f"{seed}:{tool.name}:{case}")
                    mission_id = f"pair-{number}-{tool.name}"[:72].rstrip("-_")
                    made.append(_Attempt(tool, case, mission_id, arguments))
            attempts += made
        except ArgumentsInvalid as error:
            remedy = "give the named inputs examples: no made value fits their schemas"
            flaws.append(Flaw(why=f"no call could be made: {error}", remedy=remedy))
        if flaws:
            checks.append(_check(tool, "contract", flaws))
    return checks, attempts


class _Trials:
    def __init__(self, installation: Installation, seed: int) -> None:
        self._installation = installation
        self._seed = seed
        self._memories = {one.document: one for one in installation.sandbox.memories}
        self._thinking = asyncio.Semaphore(_THINKING_AT_ONCE)

    async def run(self, attempts: Sequence[_Attempt], on_check: OnCheck) -> list[PairCheck]:
        """Run all trials concurrently: most of their time is waiting."""
        checks: list[PairCheck] = []
        rules: list[FaultRule] = []
        served = []
        for attempt in attempts:
            tool, cancel = attempt.tool, self._cancel(attempt.tool)
            unserved = [why for one in (tool, cancel) if (why := self._fault(one)) is not None]
            if unserved:
                why, remedy = unserved[0], "fix the document there, or by an --overlay"
                flaw = Flaw(why=f"{tool.name} cannot be tried: {why}", remedy=remedy)
                checks.append(_check(tool, attempt.case.value, [flaw]))
                on_check(checks[-1])
                continue
            called, cancelled = (
                self._memories[one.document].names[one.method, one.path] for one in (tool, cancel)
            )
            served.append(attempt)
            rules += faults_of(attempt.case, called, cancelled, mission_id=attempt.mission_id)
        self._installation.sandbox.faults.replace(rules, seed=self._seed)
        async with SandboxClient(self._installation.sandbox_url) as sandbox:
            for ended in asyncio.as_completed([self._try(one, sandbox) for one in served]):
                check = await ended
                on_check(check)
                checks.append(check)
        return checks

    def _cancel(self, tool: Tool) -> Tool:
        contract = tool.compensation
        return tool if contract is None else self._installation.catalog.tool(contract.cancel.tool)

    def _fault(self, tool: Tool) -> str | None:
        memory = self._memories[tool.document]
        if (tool.method, tool.path) in memory.names:
            return None
        pointer = format_pointer(("paths", tool.path))
        near = (skipped for skipped in memory.skipped if skipped.pointer.startswith(pointer))
        return next(map(str, near), "the sandbox does not serve it")

    async def _try(self, attempt: _Attempt, sandbox: SandboxClient) -> PairCheck:
        tool, case = attempt.tool, attempt.case
        start = partial(
            self._installation.start_script,
            CallTool(tool=tool.name, arguments=attempt.arguments),
            GiveUp(reason="the trial wants a rollback"),
            mission_id=attempt.mission_id,
            policy=case.policy,
        )
        async with self._thinking:
            began = time.monotonic()
            mission = await retry_transient(start)
            question = await self._approve(mission) if tool.needs_confirmation else None
        if question is not None:
            await mission.cancel()
            why = f"{tool.name} was not called, because the mission asks: {question}"
            return _check(tool, case.value, [Flaw(why=why, remedy=NOT_JUDGED)])
        result, prompts = None, 0
        try:
            async with asyncio.timeout(120.0):
                result = await retry_transient(mission.result)
        except TimeoutError:
            # Its only call is approved by now, so nobody decides on a card of the rollback.
            prompts = len(await retry_transient(mission.confirmations))
        kinds = [effect["kind"] for effect in await sandbox.ledger(attempt.mission_id)]
        left_behind = await find_leftovers(sandbox, attempt.mission_id)
        trial = Trial(
            tool=tool,
            case=case,
            result=result,
            leftovers=frozenset(left.kind for left in left_behind),
            made=kinds.count("create"),
            cancelled=kinds.count("cancel"),
            prompts=prompts,
            cancel=self._cancel(tool),
        )
        return _check(
            tool,
            case.value,
            list(flaws_of_trial(trial)),
            mission_id=attempt.mission_id,
            made=trial.made,
            cancelled=trial.cancelled,
            prompts=prompts,
            seconds=round(time.monotonic() - began, 2),
        )

    async def _approve(self, mission: MissionHandle) -> str | None:
        """Approve its call, unless the mission ends first; return a question asked instead."""
        client = self._installation.mission_client
        for _ in range(150):
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
            await asyncio.sleep(0.2)
        return None


def _check(tool: Tool, case: str, flaws: list[Flaw], **more: Any) -> PairCheck:
    contract = tool.compensation
    return PairCheck(
        document=tool.document,
        tool=tool.name,
        cancel=contract.cancel.tool if contract is not None else None,
        case=case,
        ok=not flaws,
        flaws=tuple(flaws),
        **more,
    )
