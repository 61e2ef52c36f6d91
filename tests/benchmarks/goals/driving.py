"""Driving one goal as a person would who says yes to every card, and noting what they saw."""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import OrchestratorError
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.testing import approve
from tests.benchmarks.goals.models import Goal, Reply

_SHORTEST_S, _LONGEST_S = 0.1, 0.6
_MOST_QUESTIONS = 8
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|\.")
_WHOLE = "answer"
"""The field that takes "go on", "stop", an option, or the goal said otherwise."""


@dataclass(frozen=True)
class Ending:
    """The outcome of a goal, as its requester reads it."""

    status: str
    summary: str
    answer: str
    """All that the result says, as text."""
    questions: Sequence[str] = ()


async def drive(client: MissionClient, goal: Goal, mission_id: str, *, timeout_s: float) -> Ending:
    """Start a goal, say yes to its cards, answer its questions; stop it where there is no answer.

    Raises:
        TimeoutError: it did not end in time.
    """
    request = MissionRequest(goal=goal.goal, inputs=dict(goal.inputs), mission_id=mission_id)
    mission = await client.start(request)
    person = Person(goal)
    pause_s = _SHORTEST_S
    async with asyncio.timeout(timeout_s):
        while True:
            with contextlib.suppress(OrchestratorError):
                if await person.decide(mission):
                    pause_s = _SHORTEST_S
                now = await mission.snapshot()
                if now.finished_at is not None or now.status is MissionStatus.TERMINATED:
                    result = await mission.result()
                    legs = " ".join(leg.model_dump_json() for leg in result.legs)
                    unserved = [f"unserved: {part}" for part in result.unserved]
                    summary = "; ".join([result.summary or result.error or "", *unserved])
                    answer = f"{result.summary} {legs}"
                    return Ending(result.status.value, summary, answer, person.asked)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.3, _LONGEST_S)


class Person:
    """The requester of a goal, with the answers not given yet."""

    def __init__(self, goal: Goal) -> None:
        self.asked: list[str] = []
        self._answers = list(goal.answers)
        self._seen: set[str] = set()

    def answer(self, text: str, fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return an answer to each field of a question; None where there is none."""
        self.asked.append(text)
        return None if len(self.asked) > _MOST_QUESTIONS else self._values(text, fields)

    def settle(self, doubts: Sequence[str]) -> str | None:
        """Return "go on", or the goal said otherwise, to the doubts of a plan; None for neither."""
        values = self.answer("; ".join(doubts), {_WHOLE: {"type": "string"}})
        return None if values is None else str(values[_WHOLE])

    async def decide(self, mission: MissionHandle) -> bool:
        """Approve the cards and answer the questions that wait; False if nothing waits."""
        waiting = await mission.waiting()
        for card in waiting.cards:
            await approve(mission, card)
        for question in waiting.questions:
            await self._answer(mission, question)
        return bool(waiting.cards or waiting.questions)

    async def _answer(self, mission: MissionHandle, question: Question) -> None:
        if question.question_id in self._seen:
            values = self._values(question.question, question.fields)
        else:
            self._seen.add(question.question_id)
            values = self.answer(question.question, question.fields)
        if values is None:
            await mission.cancel()
            return
        await mission.answer(question.question_id, values, answered_by="tester@example.com")

    def _values(self, text: str, fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for name, schema in fields.items():
            reply = self._reply(name, schema, text)
            if reply is None:
                return None
            values[name] = _said(reply, schema)
        return values or None

    def _reply(self, name: str, schema: Mapping[str, Any], text: str) -> Reply | None:
        """The first answer to what the field is called, else to what is asked; given once.

        The field `answer` (go on, or the goal said otherwise) takes what its goal lists for it, or
        one of its options; "choose any" is for options alone.
        """
        whole = name == _WHOLE
        for about in (f"{name} {schema.get('title', '')}", f"{schema.get('description')} {text}"):
            for reply in self._answers:
                chooses = bool(reply.choose) and _chosen(reply, schema) is not None
                is_meant = chooses or (
                    reply.choose != "." and (not whole or about.startswith(name))
                )
                is_meant &= _suits(reply, schema)
                if is_meant and re.search(reply.about, about, re.IGNORECASE):
                    self._answers.remove(reply)
                    return reply
        return None


def _said(reply: Reply, schema: Mapping[str, Any]) -> Any:
    if not reply.choose:
        return _typed(reply.say, schema.get("type"))
    if (chosen := _chosen(reply, schema)) is not None:
        return chosen
    return _typed(reply.say or reply.choose.partition("|")[0], schema.get("type"))


def _chosen(reply: Reply, schema: Mapping[str, Any]) -> Any:
    """Return the first option that a reply chooses; None where there is none."""
    found = (o for o, text in _options(schema) if re.search(reply.choose, text, re.IGNORECASE))
    return next(found, None)


def _suits(reply: Reply, schema: Mapping[str, Any]) -> bool:
    """True unless a number is asked for and the answer is another text."""
    is_number = schema.get("type") in ("number", "integer")
    return not is_number or bool(_NUMBER.fullmatch(str(reply.say or reply.choose)))


def _options(schema: Mapping[str, Any]) -> Iterable[tuple[Any, str]]:
    for option in schema.get("oneOf", ()):
        yield option.get("const"), f"{option.get('title')} {option.get('const')}"
    for option in schema.get("enum", ()):
        yield option, str(option)


def _typed(value: Any, kind: Any) -> Any:
    if kind in ("number", "integer") and isinstance(value, str):
        number = float(value)
        return int(number) if kind == "integer" else number
    if kind == "array" and not isinstance(value, list):
        return [value]
    return value
