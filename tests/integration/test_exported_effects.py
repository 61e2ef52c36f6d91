"""Property: what ran once is exported as a workflow that has the same effects when it runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from pydantic import JsonValue

from orchestrator.arazzo.arazzo_document import parse_document
from orchestrator.arazzo.arazzo_files import content_of
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import EndMove
from orchestrator.arazzo.workflow_export import as_yaml, export_document
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject
from orchestrator.sandbox import (
    load_documents,
)
from orchestrator.settings import bundled_specs
from orchestrator.testing.sample_arguments import make_arguments
from tests.provider_runs import ProviderRun, provider

ROOT = Path(__file__).parents[2]
OFFICIAL = jsonschema_rs.Draft202012Validator(
    json.loads((ROOT / "specs/arazzo-1.0.schema.json").read_text("utf-8"))
)
OURS = ("flights", "hotels", "dining", "cars", "messages", "payments", "expenses", "calendar")
FOREIGN = ("kennel", "lockers", "labels", "transfers", "foreign/gym", "foreign/library")
DOCUMENTS = {
    **{name: (bundled_specs() / f"{name}.yaml",) for name in OURS},
    **{name: (ROOT / f"tests/documents/{name}.yaml",) for name in FOREIGN},
    "all of ours": (bundled_specs(),),
}
MOST_CALLS = 6


def chained(run: ProviderRun, tool: Tool, arguments: JsonObject, random: Random) -> JsonObject:
    """Arguments with ids of earlier answers: by the name of a property, or by `id` of its kind."""
    for name, schema in tool.properties.items():
        if name in tool.reference_inputs or name in tool.pii_fields:
            continue
        if isinstance(schema, dict) and schema.get("enum"):
            continue
        known = [
            value
            for made in run.calls
            for key, value in leaves(made.body)
            if key == name and isinstance(value, str)
        ]
        if known and (name in arguments or random.random() < 0.3):
            arguments = {**arguments, name: random.choice(known)}
    return arguments


def leaves(value: JsonValue, name: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Plain values with the name of their property; of lists the first element."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, key)
    elif isinstance(value, list):
        for one in value[:1]:
            yield from leaves(one, name)
    elif value is not None:
        yield name, value


async def explore(run: ProviderRun, random: Random) -> None:
    """Make calls at random, with what earlier answers gave."""
    tools = list(run.catalog.tools.values())
    for number in range(30):
        if len(run.calls) == MOST_CALLS:
            return
        tool = random.choice(tools)
        if tool.effect is Effect.CANCEL and random.random() < 0.7:
            continue
        try:
            made = make_arguments(run.catalog, tool, seed=f"{number}", whole=random.random() < 0.3)
            await run.call(tool, chained(run, tool, made, random))
        except ArgumentsInvalid:
            continue


def said_in(run: ProviderRun, random: Random) -> list[str]:
    """Some values of arguments, as a goal would say them: no ids of answers or of the calls."""
    read = {value for call in run.calls for _, value in leaves(call.body)}
    return [
        str(value)
        for call in run.calls
        for name, value in leaves(call.arguments)
        if name not in {*(tool := run.catalog.tool(call.tool)).pii_fields, *tool.reference_inputs}
        and value not in read
        and random.random() < 0.2
    ]


def pairs(one: JsonValue, other: JsonValue) -> Iterator[tuple[JsonValue, JsonValue]]:
    """Values at the same place of two answers."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() & other.keys():
            yield from pairs(one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list):
        for left, right in zip(one, other, strict=False):
            yield from pairs(left, right)
    elif not isinstance(one, dict | list) and not isinstance(other, dict | list):
        yield one, other


def same(first: JsonValue, again: JsonValue, made: set[tuple[str, str]]) -> bool:
    """Return True if arguments are equal up to values that the provider made."""
    if isinstance(first, dict) and isinstance(again, dict):
        return first.keys() == again.keys() and all(
            same(first[key], again[key], made) for key in first
        )
    if isinstance(first, list) and isinstance(again, list):
        return len(first) == len(again) and all(
            same(one, other, made) for one, other in zip(first, again, strict=True)
        )
    return first == again or (json.dumps(first), json.dumps(again)) in made


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_an_exported_run_has_the_same_effects(name: str, seed: int, tmp_path: Path) -> None:
    """At a provider that makes other ids: nothing of an answer is written down as a constant."""
    random = Random(f"{name} {seed}")
    documents: dict[str, Any] = dict(load_documents(DOCUMENTS[name]))
    async with provider(documents, tmp_path / "first", seed=seed) as run:
        await explore(run, random)
        assert run.calls
        said = said_in(run, random)
        goal = f"Do it with {', '.join(said)}"
        content = export_document(run.calls, run.catalog, goal=goal, inputs={})
        effects = run.effects()
    OFFICIAL.validate(content)
    text = as_yaml(content)
    document = parse_document("again.arazzo.yaml", content_of("again.arazzo.yaml", text))

    async with provider(documents, tmp_path / "again", seed=seed + 100) as again:
        (workflow,) = bind(document, "", again.catalog)
        move = await again.play(workflow, {}, {})

        assert isinstance(move, EndMove), (move, text)
        assert [one.tool for one in again.calls] == [one.tool for one in run.calls]
        made: set[tuple[str, str]] = set()
        for before, after in zip(run.calls, again.calls, strict=True):
            assert same(before.arguments, after.arguments, made), (
                before.arguments,
                after.arguments,
                text,
            )
            made |= {(json.dumps(a), json.dumps(b)) for a, b in pairs(before.body, after.body)}
        assert again.effects() == effects
