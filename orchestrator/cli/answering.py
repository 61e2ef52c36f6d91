"""`orchestrator mission answer` and `repair`: answers to questions, pauses of models and holds."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestrator.cli.options import read_json, read_pairs, split_pair
from orchestrator.cli.output import (
    AsJson,
    account_name,
    ask,
    console,
    is_terminal,
    line,
    print_json,
    progress,
)
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible

if TYPE_CHECKING:  # help does without them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.leg import Question


def given_texts(values: Sequence[str]) -> "JsonObject | str":
    """Return `["day=tomorrow", "guests=two"]` by name; fields say how the texts are read.

    Text without the name of a field is one text: `["next", "Friday"]`.
    """
    if not any("=" in value for value in values):
        return " ".join(values)
    texts: JsonObject = {}
    for name, text in map(split_pair, values):
        if name in texts:
            raise UsageError(f"{name} is given twice; give several with commas between them")
        texts[name] = text
    return texts


async def find_question(client: "MissionClient", named: str) -> "Question | None":
    """Return the open question of an id, or the only one of a mission; None if it is not open."""
    if "." in named:
        return await client.question(named)
    open_now = await client.get(named).questions()
    if len(open_now) == 1:
        return open_now[0]
    if not open_now:
        raise UsageError(f"{named} asks nothing now; see: orchestrator mission show {named}")
    asked = ", ".join(question.question_id for question in open_now)
    raise UsageError(f"{named} asks {len(open_now)} questions; answer one of them: {asked}")


def ask_fields(question: "Question", *, as_json: bool = False) -> "JsonObject":
    """Ask the person at the terminal field by field, on standard error.

    Each is asked for until its text can be read, with the texts before it: a stay ends after its
    first day. How it was understood is shown.
    """
    from orchestrator.cli import render_waiting
    from orchestrator.client.waits import read_for
    from orchestrator.messages.open_waits import commands_for

    if as_json or not is_terminal():
        fields = "; ".join(field.described(question.today) for field in question.asks)
        raise UsageError(
            f"{question.question_id} asks for {fields}. This command does not prompt; give: "
            f"{commands_for(question)[-1]}"
        )
    progress.print(line(question.question), soft_wrap=True)
    for text in render_waiting.particulars(question):
        progress.print(text, soft_wrap=True)
    typed: JsonObject = {}
    for field in question.asks:
        label, default = visible(field.label), "" if field.is_optional else None
        while field.name not in typed:
            given: str = typer.prompt(
                label, default=default, show_default=False, err=True, prompt_suffix=": "
            )
            if not given.strip() and field.is_optional:
                if (usual := field.default) is not None:
                    typed[field.name] = usual if isinstance(usual, str) else json.dumps(usual)
                break
            problems = read_for(question, {**typed, field.name: given}).problems
            for problem in problems:
                progress.print(line((problem, "yellow")), soft_wrap=True)
            if not problems:
                for note in read_for(question, {field.name: given}).notes:
                    progress.print(_understood(note), soft_wrap=True)
                typed[field.name] = given
    return typed


def _understood(note: str) -> Text:
    return line(("  understood as ", "dim"), note)


def answer(
    named: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The id of the question or the pause, or of the mission."
        ),
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[K=V]...",
            help="The requested values in plain words: tomorrow, 8 pm, two, 120 euros; one "
            "thing alone needs no name. None: you are asked, field by field.",
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Retry the model of a waiting leg now.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER:MODEL", help="Continue a waiting leg with this model."),
    ] = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Fail a waiting leg; its mission rolls back.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question, or retry the model of a waiting leg.

    Without values you are asked for each at the terminal. What cannot be read, or in two ways, is
    refused, and the question stays open. What was understood is shown.

    A model is looked up where the leg runs, and one that cannot be asked there is refused. The id
    of a mission stands for all its legs that wait.

    Example: orchestrator mission answer trip-1a2b3c.1-flights.2 next Friday

    Example: orchestrator mission answer trip-1a2b3c --model anthropic:claude-sonnet-4-5
    """
    mission_id, who = named.partition(".")[0], account_name()
    if retry or model or give_up:
        if values or retry + bool(model) + give_up > 1:
            raise UsageError("a pause takes one of --retry, --model and --give-up, and no values")
        pause_id = named if "." in named else None
        resumed = ask(
            lambda client: client.get(mission_id).resume(
                pause_id, model=model, give_up=give_up, by=who
            ),
            notes_silence=True,
        )
        if as_json:
            return print_json([pause.model_dump(mode="json") for pause in resumed])
        does = "given up" if give_up else f"asks {model or 'its model again'}"
        for pause in resumed:
            console.print(line(f"{pause.mission_id}.{pause.leg_id}: {does}"), soft_wrap=True)
        return None
    is_asked, question_id = False, named
    given = given_texts(values or [])
    if not given or "." not in question_id:
        question = ask(lambda client: find_question(client, named))
        if question is not None:
            question_id = question.question_id
            if not given and question.fields:
                given, is_asked = ask_fields(question, as_json=as_json), True
    understood = ask(
        lambda client: client.get(mission_id).answer(question_id, given, answered_by=who),
        notes_silence=True,
    )
    if as_json:
        return print_json({"question_id": question_id, **understood.model_dump(mode="json")})
    console.print("answered")
    for note in () if is_asked else understood.notes:
        console.print(_understood(note), soft_wrap=True)


def repair(
    named: Annotated[
        str, typer.Argument(metavar="ID", help="The mission's id, or that of the hold itself.")
    ],
    amend: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="Make the failed call again with this argument."),
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Make the failed call again with these arguments."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make the failed call again as it was.")
    ] = False,
    hint: Annotated[
        str, typer.Option(help="Let the planner go on with these words, such as: a later flight.")
    ] = "",
    limit: Annotated[
        str, typer.Option(help="Raise the limit that was reached: 40, or PT2H of time.")
    ] = "",
    roll_back: Annotated[bool, typer.Option("--rollback", help="Cancel all that stands.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="End as incomplete, and leave standing what stands.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide on a failed mission or saga before its rollback.

    Without a choice its hold is shown: why it failed, what stands, what cancelling each thing
    costs and until when it can be cancelled. A repair approves nothing: a call that is made again
    has its own card.

    Example: orchestrator mission repair trip-1a2b3c --amend party_size=3

    Example: orchestrator mission repair trip-1a2b3c --keep
    """
    from orchestrator.cli import render_waiting

    changes = read_json(arguments) if arguments else {}
    if not isinstance(changes, dict):
        raise UsageError("--arguments takes one JSON object, such as '{\"guests\": 2}'")
    changes |= read_pairs(amend or [])
    goes_on = bool(changes or again or hint or limit)
    if goes_on + roll_back + keep > 1:
        raise UsageError("decide once: repair with --amend, --hint ..., --rollback, or --keep")
    question = ask(lambda client: find_question(client, named))
    if question is None or question.hold is None:
        raise UsageError(f"{named} has no open hold; see: orchestrator confirm list")
    if not (goes_on or roll_back or keep):
        if as_json:
            print_json(question.model_dump(mode="json"))
        else:
            render_waiting.asked(console, question)
        return
    values: JsonObject = {"decision": "roll back" if roll_back else "keep" if keep else "repair"}
    given: JsonObject = {"arguments": changes, "hint": hint, "limit": limit}
    values |= {name: value for name, value in given.items() if value}
    hold_id, who = question.question_id, account_name()
    mission_id = hold_id.partition(".")[0]
    ask(
        lambda client: client.get(mission_id).answer(hold_id, values, answered_by=who),
        notes_silence=True,
    )
    if as_json:
        print_json({"question_id": hold_id, "values": values})
    else:
        console.print(line(f"{hold_id}: {values['decision']}"), soft_wrap=True)
