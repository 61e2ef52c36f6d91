"""Answers of people at the terminal: to questions, and to legs that wait for their model."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestrator.cli import render_waiting
from orchestrator.cli.asking import ask, is_terminal
from orchestrator.cli.drawing import line
from orchestrator.cli.options import split_pair
from orchestrator.cli.output import AsJson, console, print_json, progress
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible
from orchestrator.messages.open_waits import commands_for

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.understood import Understood
    from orchestrator.messages.leg import Question
    from orchestrator.messages.model_trouble import ModelPause
    from orchestrator.messages.question_field import QuestionField


def given_texts(pairs: Sequence[str]) -> JsonObject:
    """`["day=tomorrow", "guests=two"]` by name, as it was typed: fields tell what it means."""
    texts: JsonObject = {}
    for name, text in map(split_pair, pairs):
        if name in texts:
            raise UsageError(f"{name} is given twice; give several with commas between them")
        texts[name] = text
    return texts


def unnamed_text(values: Sequence[str]) -> str:
    """What was typed without the name of a field, as one text: `["next", "Friday"]`; '' if none."""
    return "" if any("=" in value for value in values) else " ".join(values)


async def find_question(client: "MissionClient", named: str) -> "Question | None":
    """The open question of an id, or the only one of a mission; None: none of that id is open."""
    if "." in named:
        return await client.question(named)
    open_now = await client.get(named).questions()
    if len(open_now) == 1:
        return open_now[0]
    if not open_now:
        raise UsageError(f"{named} asks nothing now; see: orchestrator mission show {named}")
    asked = ", ".join(question.question_id for question in open_now)
    raise UsageError(f"{named} asks {len(open_now)} questions; answer one of them: {asked}")


def ask_fields(question: "Question", *, as_json: bool = False) -> JsonObject:
    """The answer of the person at the terminal, field by field; all of it is on standard error."""
    if as_json or not is_terminal():
        told = "; ".join(field.told(question.today) for field in question.asks)
        raise UsageError(
            f"{question.question_id} asks for {told}. Nobody is asked here; give: "
            f"{commands_for(question)[-1]}"
        )
    progress.print(line(question.question), soft_wrap=True)
    for text in render_waiting.particulars(question):
        progress.print(text, soft_wrap=True)
    typed: dict[str, str] = {}
    for field in question.asks:
        typed[field.name] = _asked(question, field, typed)
    return {**typed}


def _asked(question: "Question", field: "QuestionField", before: Mapping[str, str]) -> str:
    """What is typed for a field, asked for until it can be read; shown as it was understood.

    It is read with what was typed before it: a stay ends after its first day.
    """
    from orchestrator.client.answer_sending import read_for

    default = "" if field.is_optional else None
    while True:
        typed: str = typer.prompt(
            visible(field.label), default=default, show_default=False, err=True, prompt_suffix=": "
        )
        if not typed.strip() and field.is_optional:
            return _as_text(field.default)
        understood = read_for(question, {**before, field.name: typed})
        if not understood.problems:
            for told in noted(read_for(question, {field.name: typed})):
                progress.print(told, soft_wrap=True)
            return typed
        for problem in understood.problems:
            progress.print(line((problem, "yellow")), soft_wrap=True)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def noted(understood: "Understood") -> Iterator[Text]:
    """What was read otherwise than it was typed, a line for each field."""
    for note in understood.notes:
        yield line(("  understood as ", "dim"), note)


def answer(
    question_id: Annotated[
        str,
        typer.Argument(metavar="QID", help="The question's id, or the id of the one mission."),
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[K=V]...",
            help="What is asked for, as you would say it: tomorrow, 8 pm, two, 120 euros; one "
            "thing alone needs no name. None: you are asked, field by field.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question of a mission; what was understood is shown.

    Without values you are asked for each at the terminal. What cannot be read, or in two ways, is
    refused, and the question stays open.

    Example: orchestrator mission answer trip-1a2b3c.1-flights.2 next Friday
    """
    is_asked = False
    given: JsonObject | str = unnamed_text(values or []) or given_texts(values or [])
    if not given or "." not in question_id:
        question = ask(lambda client: find_question(client, question_id), tells_silence=True)
        if question is not None:
            question_id = question.question_id
            if not given and question.fields:
                given, is_asked = ask_fields(question, as_json=as_json), True
    mission_id, who = question_id.partition(".")[0], account_name()
    understood = ask(
        lambda client: client.get(mission_id).answer(question_id, given, answered_by=who),
        tells_silence=True,
    )
    if as_json:
        print_json({"question_id": question_id, **understood.model_dump(mode="json")})
        return
    console.print("answered")
    for told in () if is_asked else noted(understood):
        console.print(told, soft_wrap=True)


def resume(
    named: Annotated[
        str,
        typer.Argument(metavar="ID", help="The id of the pause, or of the mission: all its legs."),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:MODEL", help="Go on with this model from here."),
    ] = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Fail the leg: its mission is rolled back.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the model of a leg that waits for it again now, or another one, or give up.

    A model is looked up where the leg runs, and one that cannot be asked there is refused.

    Example: orchestrator mission resume trip-1a2b3c --model anthropic:claude-sonnet-4-5
    """
    if give_up and model is not None:
        raise UsageError("--model and --give-up: choose one of them")

    async def go_on(client: "MissionClient") -> "list[ModelPause]":
        mission = client.get(named.partition(".")[0])
        pause_id = named if "." in named else None
        return await mission.resume(pause_id, model=model, give_up=give_up, by=account_name())

    taken = ask(go_on, tells_silence=True)
    if as_json:
        print_json([pause.model_dump(mode="json") for pause in taken])
        return
    does = "given up" if give_up else f"asks {model or 'its model again'}"
    for pause in taken:
        console.print(line(f"{pause.mission_id}.{pause.leg_id}: {does}"), soft_wrap=True)
