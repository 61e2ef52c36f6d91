"""A sandbox that gives each mission a world of its own: what is in town.yaml, and its seeds."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import date, timedelta
from functools import cache, partial
from typing import Any

import httpx
import yaml
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox import (
    STANDARD,
    Document,
    Draft,
    EffectLedger,
    Playbook,
    create_app,
    read_document,
)
from orchestrator.sandbox.playbook import join
from tests.benchmarks.goals.models import HERE, Goal, Wish, dated

_SEEDED = re.compile(r"\$\d\.\w+")
_METHODS = ("get", "post", "put", "patch", "delete")
_PEOPLE = {"x-request-id": "somebody-else", "authorization": "Bearer sandbox"}

Documents = Mapping[str, Mapping[str, Any]]


class World:
    """What one mission finds, and the witness of what it does."""

    def __init__(
        self, documents: Mapping[str, Document], playbook: Playbook, *, is_stocked: bool = False
    ) -> None:
        """Take what it serves; stocked: each id that a request names exists."""
        self.ledger = EffectLedger()
        self._documents = {name: document.raw for name, document in documents.items()}
        self.app: Starlette = create_app(
            documents, ledger=self.ledger, playbook=playbook, is_stocked=is_stocked
        )
        self.seeded: list[Any] = []

    async def seed(self, seeds: tuple[Wish, ...]) -> None:
        """Do what somebody else has done before the mission starts."""
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://town") as http:
            for number, seed in enumerate(seeds):
                headers = {**_PEOPLE, "idempotency-key": f"somebody-else.{number}"}
                request = self._request(http, seed, headers)
                answer = await http.send(request)
                if answer.status_code >= 300:
                    raise AssertionError(f"seed {number}, {seed.op}: {answer.text}")
                self.seeded.append(answer.json())

    def told(self, value: Any) -> Any:
        """A value in which `$1.booking_id` is what the second seed answered."""
        if isinstance(value, dict):
            return {name: self.told(inner) for name, inner in value.items()}
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        number, _, name = value[1:].partition(".")
        return _first(self.seeded[int(number)], name)

    def text_of(self, goal: str) -> str:
        """Return a goal in which `$0.booking_id` is what the first seed answered."""
        return _SEEDED.sub(lambda found: str(self.told(found[0])), goal)

    def facts(self, resource_id: str) -> dict[str, Any]:
        """All that a provider keeps of one thing."""
        rows = self.ledger.database.run(
            "SELECT facts FROM resources WHERE resource_id = ? ORDER BY seq DESC", resource_id
        )
        return dict(json.loads(rows[0]["facts"])) if rows else {}

    def _request(
        self, http: httpx.AsyncClient, seed: Wish, headers: Mapping[str, str]
    ) -> httpx.Request:
        name, method, path, operation = self._operation(seed.op)
        given = self.told(dict(seed.given))
        url = f"/{name}{path.format(**given)}"
        keys = {key: "sandbox" for key in _key_headers(self._documents[name])}
        body = operation.get("requestBody", {}).get("content", {"application/json": {}})
        kind = "json" if "application/json" in body else "data"
        sent: dict[str, Any] = {"params" if method == "get" else kind: given}
        return http.build_request(method, url, headers={**headers, **keys}, **sent)

    def _operation(self, operation_id: str) -> tuple[str, str, str, Mapping[str, Any]]:
        for name, document in self._documents.items():
            for path, item in document["paths"].items():
                for method in _METHODS:
                    if item.get(method, {}).get("operationId") == operation_id:
                        return name, method, path, item[method]
        raise AssertionError(f"no document has an operation {operation_id}")


class Town:
    """An ASGI app that sends each request to the world of the mission that makes it."""

    def __init__(self, documents: Documents, today: date, *, is_theirs: bool = False) -> None:
        """Take what the worlds are made of; a call of no mission goes to an empty world.

        Theirs: the documents of other makers, whose providers hold whatever an id names.
        """
        # Read once: it is most of the work of opening a world.
        self._documents = {name: read_document(name, raw) for name, raw in documents.items()}
        self._today = today
        self._is_theirs = is_theirs
        self._worlds: dict[str, World] = {"": self._world(None)}

    async def open(self, mission_id: str, goal: Goal) -> World:
        """A world for a mission that is about to start."""
        world = self._world(goal)
        await world.seed(goal.seeds)
        self._worlds[mission_id] = world
        return world

    def _world(self, goal: Goal | None) -> World:
        if not self._is_theirs:
            return World(self._documents, _playbook(goal, self._today))
        return World(self._documents, join([STANDARD, _held_by_theirs()]), is_stocked=True)

    def close(self, mission_id: str) -> None:
        """Forget a world whose mission is over and witnessed."""
        self._worlds.pop(mission_id).ledger.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, in its mission's world."""
        headers = dict(scope.get("headers", ()))
        mission_id = headers.get(b"x-request-id", b"").decode().partition(".")[0]
        world = self._worlds.get(mission_id, self._worlds[""])
        await world.app(scope, receive, send)


def _key_headers(document: Mapping[str, Any]) -> list[str]:
    schemes = document.get("components", {}).get("securitySchemes", {}).values()
    return [scheme["name"] for scheme in schemes if scheme.get("in") == "header"]


def _first(answer: Any, name: str) -> Any:
    """The first value of that name, however deep."""
    if isinstance(answer, dict) and name in answer:
        return answer[name]
    inner = answer.values() if isinstance(answer, dict) else answer
    for value in inner if isinstance(answer, dict | list) else ():
        if (found := _first(value, name)) is not None:
            return found
    return None


def _playbook(goal: Goal | None, today: date) -> Playbook:
    """The standard one, with the things of the town and its weather."""
    town = deepcopy(_laid_out(today))
    sky = {city.casefold(): told for city, told in (goal.sky if goal else {}).items()}

    def tell_weather(draft: Draft) -> None:
        told = {**town["weather"], **sky.get(str(draft.arguments["city"]).casefold(), {})}
        middle = round((told["temperature_min_c"] + told["temperature_max_c"]) / 2, 1)
        told |= {"temperature_c": middle, "feels_like_c": middle}
        draft.body |= {name: value for name, value in told.items() if name in draft.body}

    def find_openings(draft: Draft) -> None:
        day, vet = draft.arguments["day"], str(draft.arguments.get("vetName", ""))
        draft.items = [
            {"openingId": f"opn_{day}_{number}", "day": day, **opening}
            for number, opening in enumerate(town["openings"])
            if vet.casefold() in opening["vetName"].casefold()
        ]

    ours = Playbook(
        behaviours={
            "weather_get_forecast": tell_weather,
            "weather_get_history": tell_weather,
            "weather_get_current": tell_weather,
            "findOpenings": find_openings,
            "file_find_files": _sort_files,
            "payment_list_invoices": lambda draft: None,
        },
        standing=town["things"],
    )
    return join([STANDARD, ours])


def _held_by_theirs() -> Playbook:
    """Return what lists of other makers' documents hold, where goals name it by its name."""
    held = _laid_out(date.max - timedelta(400))["theirs"]

    def list_held(draft: Draft, items: list[dict[str, Any]]) -> None:
        draft.items = deepcopy(items)

    return Playbook(behaviours={op: partial(list_held, items=held[op]) for op in held})


@cache
def _laid_out(today: date) -> dict[str, Any]:
    """What is in town.yaml."""
    laid_out: dict[str, Any] = yaml.safe_load(
        dated((HERE / "town.yaml").read_text(encoding="utf-8"), today)
    )
    return laid_out


def _sort_files(draft: Draft) -> None:
    order = draft.arguments.get("sort_by", "latest")
    by = "file_name" if order == "name" else "modified_at"
    draft.items.sort(key=lambda item: str(item[by]), reverse=order == "latest")
