"""The person who started a mission: says yes to what it is for, and keeps what cards showed."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import JsonValue

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.shown_text import markdown_text
from orchestrator.messages.mission import MissionResult, MissionStatus

_NAME: Final = "emma.johnson@example.com"
_SHORTEST_S, _LONGEST_S = 0.05, 0.5
_GO_ON: Final = "go on"


@dataclass(frozen=True)
class Sent:
    """One call as a provider got it."""

    tool: str
    arguments: Mapping[str, Any]

    def is_same(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether it is this very call."""
        return self.tool == tool and _plain(self.arguments) == _plain(arguments)


@dataclass
class Person:
    """Decides on cards, answers what is asked before them, and remembers each card as it was."""

    approves: Callable[[ConfirmationCard], bool]
    approved: list[ConfirmationCard] = field(default_factory=list)
    refused: list[ConfirmationCard] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def see_through(self, mission: MissionHandle, *, timeout_s: float) -> MissionResult:
        """The result of a mission, whose cards and questions are answered as they come.

        Raises:
            TimeoutError: it did not end in time.
        """
        pause_s = _SHORTEST_S
        async with asyncio.timeout(timeout_s):
            while True:
                with contextlib.suppress(OrchestratorError):
                    if await self._decide(mission):
                        pause_s = _SHORTEST_S
                    now = await mission.snapshot()
                    if now.finished_at is not None or now.status is MissionStatus.TERMINATED:
                        return await mission.result()
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 1.3, _LONGEST_S)

    async def _decide(self, mission: MissionHandle) -> bool:
        waiting = await mission.waiting()
        for card in waiting.cards:
            if self.approves(card):
                await mission.approve(card, approver=_NAME)
                self.approved.append(card)
            else:
                await mission.reject(card, reason="I did not ask for it", approver=_NAME)
                self.refused.append(card)
        for question in waiting.questions:
            values: dict[str, JsonValue] = dict.fromkeys(question.fields, _GO_ON)
            await mission.answer(question.question_id, values, answered_by=_NAME)
            self.asked.append(question.question)
        return bool(waiting.cards or waiting.questions)

    def saw(self, sent: Sent) -> bool:
        """Whether a card that this person approved showed the whole of this call."""
        return any(
            card.tool == sent.tool and not hidden_on(card, sent.arguments)
            for card in self.approved
            if sent.is_same(card.tool, card.arguments)
        )


def hidden_on(card: ConfirmationCard, arguments: Mapping[str, Any]) -> Sequence[str]:
    """The texts among the arguments that a reader of the card does not see whole."""
    shown = _squeezed(as_markdown(card))
    return [text for text in _texts(arguments) if _squeezed(markdown_text(text)) not in shown]


def _texts(value: Any) -> list[str]:
    match value:
        case Mapping():
            return [text for inner in value.values() for text in _texts(inner)]
        case list() | tuple():
            return [text for inner in value for text in _texts(inner)]
        case str():
            return [value]
        case _:  # numbers are written as people read them: 1234.5 as 1,234.50
            return []


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _plain(arguments: Mapping[str, Any]) -> str:
    given = {name: value for name, value in arguments.items() if value is not None}
    return json.dumps(given, sort_keys=True)
