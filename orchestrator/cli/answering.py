"""Answers at the terminal: field by field where somebody is asked, else as they were given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from orchestrator.cli import render_waiting
from orchestrator.cli.asking import is_terminal
from orchestrator.cli.drawing import line
from orchestrator.cli.options import split_pair
from orchestrator.cli.output import progress
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible
from orchestrator.messages.open_waits import commands_for

if TYPE_CHECKING:  # they import the client, which takes a while
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.typed_answers import Understood
    from orchestrator.messages.leg import Question
    from orchestrator.messages.question_field import QuestionField


def given_texts(pairs: Sequence[str]) -> JsonObject:
    """`["day=tomorrow", "guests=two"]` by name, as it was typed: fields tell what it means.

    Raises:
        UsageError: a pair has no `=`, or a name comes twice.
    """
    texts: JsonObject = {}
    for name, text in map(split_pair, pairs):
        if name in texts:
            raise UsageError(f"{name} is given twice; give several with commas between them")
        texts[name] = text
    return texts


async def find_question(client: MissionClient, named: str) -> Question | None:
    """The open question of an id, or the only one of a mission; None when none of that id is open.

    Raises:
        UsageError: the mission asks nothing, or more than one thing.
    """
    if "." in named:
        return await client.question(named)
    open_now = await client.get(named).questions()
    if len(open_now) == 1:
        return open_now[0]
    if not open_now:
        raise UsageError(f"{named} asks nothing now; see: orchestrator mission show {named}")
    asked = ", ".join(question.question_id for question in open_now)
    raise UsageError(f"{named} asks {len(open_now)} questions; answer one of them: {asked}")


def ask_fields(question: Question, *, as_json: bool = False) -> JsonObject:
    """The answer of the person at the terminal, field by field; all of it is on standard error.

    Raises:
        UsageError: there is no terminal to ask at, or a script asked for JSON.
        typer.Abort: they pressed Ctrl-C or ended the input.
    """
    if as_json or not is_terminal():
        told = "; ".join(field.told(question.today) for field in question.asks)
        raise UsageError(
            f"{question.question_id} asks for {told}. Nobody is asked here; give: "
            f"{commands_for(question)[-1]}"
        )
    progress.print(line(question.question), soft_wrap=True)
    for text in render_waiting.particulars(question):
        progress.print(text, soft_wrap=True)
    return {field.name: _asked(question, field) for field in question.asks}


def _asked(question: Question, field: QuestionField) -> str:
    """What is typed for a field, asked for until it can be read; shown as it was understood."""
    from orchestrator.client.answer_sending import read_for

    default = "" if field.is_optional else None
    while True:
        typed: str = typer.prompt(
            visible(field.label), default=default, show_default=False, err=True, prompt_suffix=": "
        )
        if not typed.strip() and field.is_optional:
            return _as_text(field.default)
        understood = read_for(question, {field.name: typed})
        if not understood.problems:
            for told in noted(understood):
                progress.print(told, soft_wrap=True)
            return typed
        for problem in understood.problems:
            progress.print(line((problem, "yellow")), soft_wrap=True)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def noted(understood: Understood) -> Iterator[Text]:
    """What was read otherwise than it was typed, a line for each field."""
    for note in understood.notes:
        yield line(("  understood as ", "dim"), note)
