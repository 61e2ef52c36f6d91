"""Made-up OpenAPI documents of the size and shape of the largest public ones, from a seed.

`wide_document` is shaped like the public GitHub REST description (OpenAPI 3.0, about 1,100
operations and 12 MB: shared parameters, large flat schemas, long examples, webhooks), and
`deep_document` like Stripe's (about 600 operations and 7 MB: form bodies full of anyOf, and
resources that can all be expanded into each other, so that nearly every schema reaches every
other). Every operation is a tool.
"""

import random
from collections.abc import Iterator
from typing import Any, Final

Json = dict[str, Any]

_TEXT: Final = """
account amount archive article audit author badge balance branch bucket build bundle card cart
change charge check client code comment commit contact contract country credit currency customer
day delivery deploy detail device digest discount dispute domain email entry event feature file
filter folder format grant group history hook identity image index invoice issue item job key label
language lease level license limit line link list location locale mail member message method metric
model module month name network note number object offer option order owner package page parent
partner pass path payment period person phone pipeline place plan point policy portal post price
product profile project provider purchase quantity quota quote range rate reason receipt record
refund region release report request reserve resource review role rule run scope secret section
seller service session setting shipment signal size slot source stage state status step store
stream subject tag target task tax team template tenant term text thread ticket time title token
topic total transfer trial type unit update upload usage user value vendor version view visitor
voucher wallet webhook week window year
"""
_WORDS: Final = _TEXT.split()

_WIDE_SCHEMAS: Final = 1_200
_WIDE_EXAMPLES: Final = 1_250
_WIDE_WEBHOOKS: Final = 250
_DEEP_RESOURCES: Final = 400


def wide_document(operations: int = 1_100, *, seed: int = 1) -> Json:
    """A document of the size and shape of the public GitHub REST description."""
    return _Wide(random.Random(seed)).document(operations)


def deep_document(operations: int = 600, *, seed: int = 2) -> Json:
    """A document of the size and shape of Stripe's description."""
    return _Deep(random.Random(seed)).document(operations)


class _Writer:
    """Words and leaves, all from one source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def word(self) -> str:
        return self.chance.choice(_WORDS)

    def name(self) -> str:
        return f"{self.word()}_{self.word()}"

    def sentence(self, words: int) -> str:
        return " ".join(self.word() for _ in range(words)).capitalize() + "."

    def names(self, count: int) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.name()] = None
        return list(found)

    def leaf(self, words: int = 8) -> Json:
        described: Json = {"description": self.sentence(words)}
        kind = self.chance.randrange(6)
        if kind == 0:
            return {**described, "type": "integer", "example": self.chance.randrange(10_000)}
        if kind == 1:
            return {**described, "type": "boolean", "default": False}
        if kind == 2:
            values = sorted({self.word() for _ in range(self.chance.randrange(2, 9))})
            return {**described, "type": "string", "enum": values}
        if kind == 3:
            return {**described, "type": "string", "format": "date-time", "nullable": True}
        if kind == 4:
            return {**described, "type": "array", "items": {"type": "string"}, "maxItems": 100}
        return {**described, "type": "string", "maxLength": 5000, "example": self.name()}


def _ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def _info(title: str) -> Json:
    return {"title": title, "version": "1.0.0", "description": "Made up for measurements."}


def _contract(method: str, name: str, cancel: str | None) -> Json:
    """The x-orchet-* keywords of an operation; `cancel` is the operationId of its cancel tool."""
    if method == "get":
        return {"x-orchet-tool": True}
    if cancel is None:
        return {"x-orchet-tool": True, "x-orchet-requires-confirmation": "structured-order"}
    if method == "delete":
        return {
            "x-orchet-tool": True,
            "x-orchet-requires-confirmation": False,
            "x-orchet-cancel-for": cancel,
        }
    return {
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": "structured-order",
        "x-orchet-cancels": cancel,
    }


class _Wide(_Writer):
    def document(self, operations: int) -> Json:
        schemas = self._schemas()
        names = list(schemas)
        return {
            "openapi": "3.0.3",
            "info": _info("Wide"),
            "servers": [{"url": "https://wide.example"}],
            "tags": [{"name": word} for word in _WORDS[:40]],
            "paths": self._paths(operations, names),
            "x-webhooks": dict(self._webhooks(names)),
            "components": {
                "schemas": schemas,
                "parameters": dict(self._parameters()),
                "examples": {
                    f"example-{i}": {"value": self._value(2)} for i in range(_WIDE_EXAMPLES)
                },
                "responses": {
                    name: {"description": name, "content": _json(_ref("schemas", names[0]))}
                    for name in ("not-found", "forbidden", "validation-failed")
                },
            },
        }

    def _schemas(self) -> Json:
        """Each refers to a few that come before it, so that there is no circle but one."""
        schemas: Json = {}
        for number in range(_WIDE_SCHEMAS):
            properties = {name: self.leaf() for name in self.names(self.chance.randrange(6, 45))}
            for _ in range(self.chance.randrange(4) if number else 0):
                earlier = self.chance.choice(list(schemas)[-60:])
                properties[self.name()] = self._use(earlier)
            schemas[f"{self.word()}-{number}"] = {
                "type": "object",
                "title": self.sentence(2),
                "properties": properties,
                "required": list(properties)[: 1 + self.chance.randrange(len(properties))],
            }
        last = list(schemas)[-1]
        schemas[last]["properties"]["parent"] = _ref("schemas", last)
        return schemas

    def _use(self, name: str) -> Json:
        kind = self.chance.randrange(3)
        if kind == 0:
            return {"type": "array", "items": _ref("schemas", name)}
        if kind == 1:
            return {"nullable": True, "allOf": [_ref("schemas", name)]}
        return _ref("schemas", name)

    def _parameters(self) -> Iterator[tuple[str, Json]]:
        for name in ("owner", "repo", "number"):
            yield name, {"name": name, "in": "path", "required": True, **self._parameter()}
        for name in ("page", "per-page", "sort", "since"):
            yield name, {"name": name, "in": "query", **self._parameter()}

    def _parameter(self) -> Json:
        return {"description": self.sentence(10), "schema": {"type": "string", "maxLength": 100}}

    def _paths(self, operations: int, schemas: list[str]) -> Json:
        paths: Json = {}
        for number in range(operations // 2):
            path = f"/repos/{{owner}}/{self.word()}-{number}"
            paths[path] = {
                "get": self._operation("get", number, schemas),
                ("post", "patch", "put", "delete")[number % 4]: self._operation(
                    ("post", "patch", "put", "delete")[number % 4], number, schemas
                ),
            }
        return paths

    def _operation(self, method: str, number: int, schemas: list[str]) -> Json:
        name = f"{self.word()}_{method}_{number}"
        schema = _ref("schemas", self.chance.choice(schemas))
        answer = {"type": "array", "items": schema} if self.chance.random() < 0.4 else schema
        example = _ref("examples", f"example-{self.chance.randrange(_WIDE_EXAMPLES)}")
        operation: Json = {
            "operationId": name,
            "summary": self.sentence(5),
            "description": " ".join(self.sentence(14) for _ in range(5)),
            "tags": [_WORDS[number % 40]],
            "externalDocs": {"url": f"https://wide.example/docs/{name}"},
            "parameters": [_ref("parameters", n) for n in ("owner", "page", "per-page", "since")],
            "responses": {
                "200": {
                    "description": "Done.",
                    "content": {
                        "application/json": {"schema": answer, "examples": {"default": example}}
                    },
                },
                "404": _ref("responses", "not-found"),
                "422": _ref("responses", "validation-failed"),
            },
            **_contract(method, name, None),
        }
        if method in ("post", "patch", "put"):
            properties = {n: self.leaf(15) for n in self.names(self.chance.randrange(3, 14))}
            properties[self.name()] = schema
            body = {"type": "object", "properties": properties, "required": list(properties)[:2]}
            operation["requestBody"] = {"required": True, "content": _json(body)}
        return operation

    def _webhooks(self, schemas: list[str]) -> Iterator[tuple[str, Json]]:
        for number in range(_WIDE_WEBHOOKS):
            properties = {n: self._use(self.chance.choice(schemas)) for n in self.names(8)}
            body = {"type": "object", "properties": properties}
            post = {
                "requestBody": {"content": _json(body)},
                "responses": {"200": {"description": ""}},
            }
            yield f"{self.word()}-{number}", {"post": post}

    def _value(self, depth: int) -> Any:
        """An example answer, some kilobytes of it."""
        if depth == 0:
            return self.chance.choice((self.sentence(6), self.chance.randrange(10**6), True, None))
        return {name: self._value(self.chance.randrange(depth)) for name in self.names(14)}


class _Deep(_Writer):
    def document(self, operations: int) -> Json:
        names = [f"{self.name()}_{number}" for number in range(_DEEP_RESOURCES)]
        return {
            "openapi": "3.0.0",
            "info": _info("Deep"),
            "servers": [{"url": "https://deep.example/"}],
            "security": [{"bearer": []}],
            "paths": self._paths(operations, names),
            "components": {
                "schemas": {name: self._resource(name, names) for name in names},
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            },
        }

    def _resource(self, name: str, names: list[str]) -> Json:
        properties = {n: self.leaf(12) for n in self.names(self.chance.randrange(8, 26))}
        for _ in range(self.chance.randrange(2, 9)):
            properties[self.name()] = self._expandable(names)
        properties["id"] = {"type": "string", "maxLength": 5000}
        properties[self.name()] = {"anyOf": [self._list(names)], "nullable": True}
        return {
            "type": "object",
            "title": name,
            "description": self.sentence(25),
            "required": list(properties)[:4],
            "properties": properties,
            "x-resourceId": name,
            "x-expandableFields": list(properties)[-3:],
        }

    def _expandable(self, names: list[str]) -> Json:
        """An id, or one of the resources that it may be expanded into."""
        others = [self.chance.choice(names) for _ in range(self.chance.randrange(1, 4))]
        branches = [{"maxLength": 5000, "type": "string"}, *(_ref("schemas", o) for o in others)]
        return {
            "description": self.sentence(12),
            "anyOf": branches,
            "x-expansionResources": {"oneOf": branches[1:]},
        }

    def _list(self, names: list[str]) -> Json:
        data = {"type": "array", "items": _ref("schemas", self.chance.choice(names))}
        return {
            "type": "object",
            "required": ["data", "has_more", "url"],
            "properties": {
                "data": data,
                "has_more": {"type": "boolean"},
                "url": {"type": "string", "maxLength": 5000, "pattern": "^/v1/"},
            },
        }

    def _paths(self, operations: int, names: list[str]) -> Json:
        paths: Json = {}
        for number in range(operations // 3):
            resource = names[number % len(names)]
            word = f"{self.word()}_{number}"
            paths[f"/v1/{word}"] = {
                "get": self._operation("get", f"{word}_list", self._list(names), None),
                "post": self._operation(
                    "post", f"{word}_create", _ref("schemas", resource), f"{word}_delete"
                ),
            }
            one = self._operation(
                "delete", f"{word}_delete", _ref("schemas", resource), f"{word}_create"
            )
            identity = {"type": "string", "maxLength": 5000}
            one["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": identity}]
            paths[f"/v1/{word}/{{id}}"] = {"delete": one}
        return paths

    def _operation(self, method: str, name: str, answer: Json, cancel: str | None) -> Json:
        content = _json(answer)
        operation: Json = {
            "operationId": name,
            "summary": self.sentence(4),
            "description": f"<p>{self.sentence(30)}</p>",
            "responses": {
                "200": {"description": "Done.", "content": content},
                "default": {"description": "Error.", "content": content},
            },
            **_contract(method, name, cancel),
        }
        if method == "get":
            expand = {"type": "array", "items": {"type": "string", "maxLength": 5000}}
            operation["parameters"] = [
                {"name": "expand", "in": "query", "style": "deepObject", "schema": expand},
                {"name": "limit", "in": "query", "schema": {"type": "integer"}},
            ]
        if method == "post":
            operation["requestBody"] = {"content": self._form()}
        return operation

    def _form(self) -> Json:
        properties = {n: self._parameter(3) for n in self.names(self.chance.randrange(6, 22))}
        schema = {"type": "object", "properties": properties, "required": list(properties)[:2]}
        nested = {n: {"explode": True, "style": "deepObject"} for n in list(properties)[:5]}
        return {"application/x-www-form-urlencoded": {"schema": schema, "encoding": nested}}

    def _parameter(self, depth: int) -> Json:
        if depth == 0 or self.chance.random() < 0.6:
            return self.leaf(12)
        properties = {n: self._parameter(depth - 1) for n in self.names(4)}
        nested = {"type": "object", "title": self.name(), "properties": properties}
        empty = {"enum": [""], "type": "string"}
        return {"description": self.sentence(12), "anyOf": [nested, empty]}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
