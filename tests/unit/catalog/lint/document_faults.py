"""Changes to a good document, and what the linter says of each."""

from collections.abc import Callable
from typing import Any

POST, GET, CANCEL = ("/orders", "post"), ("/orders", "get"), ("/cancel", "post")
AT_POST, AT_GET = "/paths/~1orders/post", "/paths/~1orders/get"
AT_CANCEL = "/paths/~1cancel/post"
PREFIX = "x-orchet-compensation-"
ANSWER = "/responses/200/content/application~1json/schema"
SENT = f"{AT_CANCEL}/requestBody/content/application~1json/schema/properties"
LOOKS: dict[str, Any] = {"^(?!x-)": {}}
Change = Callable[[dict[str, Any]], object]


def operation(shop: dict[str, Any], place: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = shop["paths"][place[0]][place[1]]
    return found


def laid_out(*fields: str) -> Change:
    """Gives orders a card type of the document's own, which shows these fields."""

    def change(shop: dict[str, Any]) -> None:
        section = {"title": "The gift", "fields": list(fields)}
        shop["x-orchet-card-types"] = [{"name": "gift-wrap", "sections": [section]}]
        operation(shop, POST)["x-orchet-requires-confirmation"] = "gift-wrap"

    return change


def put(place: tuple[str, str], **keywords: Any) -> Change:
    """Sets keywords of an operation; _ stands for -, and None removes."""

    def change(shop: dict[str, Any]) -> None:
        for name, value in keywords.items():
            key = name.replace("_", "-") if name.startswith("x_") else name
            if value is None:
                operation(shop, place).pop(key)
            else:
                operation(shop, place)[key] = value

    return change


def args(**more: Any) -> Change:
    """Adds compensation args, or replaces them."""
    return lambda shop: operation(shop, POST)[PREFIX + "args"].update(more)


def probe_with(name: str) -> Change:
    """Replaces the tool that probes."""
    return lambda shop: operation(shop, POST)[PREFIX + "probe"].update(operationId=name)


def in_body(place: tuple[str, str], **keywords: Any) -> Change:
    """Sets keywords of the schema of a body."""

    def change(shop: dict[str, Any]) -> None:
        body = operation(shop, place)["requestBody"]["content"]["application/json"]["schema"]
        body.update(keywords)

    return change


def priced(total: dict[str, Any], currency: str = "EUR") -> dict[str, Any]:
    """An answer that has a total and a currency."""
    return {"properties": {"total": total, "currency": {"const": currency}}}


def in_answer_of_post(schema: dict[str, Any]) -> Change:
    """Replaces the schema of the answer to an order, without what reads from it."""

    def change(shop: dict[str, Any]) -> None:
        answer = {"properties": {"order_id": {"type": "string"}, **schema.get("properties", {})}}
        made = operation(shop, POST)["responses"]["201"]
        made["content"]["application/json"]["schema"] = {"type": "object", **answer}

    return change


def orders_with_id(schema: dict[str, Any]) -> Change:
    """Replaces the schema of an order's id in the answer to an order."""

    def change(shop: dict[str, Any]) -> None:
        content = operation(shop, POST)["responses"]["201"]["content"]["application/json"]
        content["schema"]["properties"]["order_id"] = schema

    return change


def in_answer(place: tuple[str, str], schema: dict[str, Any]) -> Change:
    """Replaces the schema of the 200 answer."""

    def change(shop: dict[str, Any]) -> None:
        answer = operation(shop, place)["responses"]["200"]
        answer["content"]["application/json"]["schema"] = schema

    return change


def in_xml(place: tuple[str, str]) -> Change:
    """Answers with what was declared as JSON in XML."""

    def change(shop: dict[str, Any]) -> None:
        content = operation(shop, place)["responses"]["200"]["content"]
        content["application/xml"] = content.pop("application/json")
        content["application/xml"]["schema"] = {"properties": {"status": {"type": "string"}}}

    return change


def cancels_without_names(shop: dict[str, Any]) -> None:
    """The cancel takes nothing but a reason, which is optional, and nothing fills it."""
    reason = {"type": "string", "maxLength": 9, "description": "Why."}
    in_body(CANCEL, anyOf=[{}], properties={"reason": reason})(shop)
    operation(shop, POST).pop(PREFIX + "args")


def by_constants(shop: dict[str, Any]) -> None:
    """The cancel gets the same constants for every order."""
    cancels_without_names(shop)
    operation(shop, POST)[PREFIX + "args"] = {"reason": "cancelled"}


def shows_states(shop: dict[str, Any]) -> None:
    """A cancel leaves one state, which a found order may have among others."""
    states = {"type": "string", "enum": ["open", "ended"]}
    in_answer(CANCEL, {"type": "object", "properties": {"state": {"enum": ["ended"]}}})(shop)
    found = {"state": states, "client_reference": {"type": "string"}}
    in_answer(GET, {"type": "object", "properties": found})(shop)


def lists_orders(shop: dict[str, Any]) -> None:
    """The probe answers with a list, which may be empty."""
    order = {"type": "object", "properties": {"client_reference": {"type": "string"}}}
    listed = {"orders": {"type": "array", "items": order}}
    in_answer(GET, {"type": "object", "properties": listed})(shop)


def gone_when(condition: str) -> Change:
    """The probe's answer has states, and this says which is gone."""

    def change(shop: dict[str, Any]) -> None:
        shows_states(shop)
        operation(shop, POST)[PREFIX + "probe"]["gone-when"] = condition

    return change


def accepted_only(shop: dict[str, Any]) -> None:
    """An order is answered 202, and nothing finds it later."""
    answers = operation(shop, POST)["responses"]
    answers["202"] = answers.pop("201")
    operation(shop, POST).pop(PREFIX + "probe")


def secured(scheme: dict[str, Any]) -> Change:
    """Asks for a credential by this scheme."""

    def change(shop: dict[str, Any]) -> None:
        shop["components"] = {"securitySchemes": {"key": scheme}}
        operation(shop, GET)["security"] = [{"key": []}]

    return change


def takes(name: str, description: str, place: str = "query") -> Change:
    """Adds a parameter to the read."""
    more = {"name": name, "in": place, "description": description, "schema": {"type": "string"}}
    return lambda shop: operation(shop, GET)["parameters"].append(more)


def beside_the_tools(shop: dict[str, Any]) -> None:
    """A schema that is none, in a document of OpenAPI 3.0, which no tool refers to."""
    shop["openapi"] = "3.0.3"
    shop["components"] = {"schemas": {"Unused": {"type": 7}}}


def without_reference(shop: dict[str, Any]) -> None:
    """The order can only be cancelled by the id in its answer, and nothing finds it otherwise."""
    operation(shop, POST)["parameters"] = []
    operation(shop, POST)[PREFIX + "args"].pop("client_reference")
    operation(shop, POST).pop(PREFIX + "probe")


def deleted_as_read(shop: dict[str, Any]) -> None:
    """A DELETE that says of itself that it only reads."""
    more = {"operationId": "shop_wipe", "x-orchet-read-only": True}
    shop["paths"]["/orders"]["delete"] = {**operation(shop, GET), **more}


def nothing_cancels(asks: object) -> Change:
    """Makes orders irreversible, and sets whether a person is asked."""

    def change(shop: dict[str, Any]) -> None:
        for keyword in ("x-orchet-cancels", PREFIX + "args", PREFIX + "probe"):
            operation(shop, POST).pop(keyword)
        del shop["paths"]["/cancel"]
        operation(shop, POST).update(
            {"x-orchet-irreversible": True, "x-orchet-requires-confirmation": asks}
        )

    return change


SUCCEEDS, SECURED = f"{AT_GET}/x-orchet-success-when", f"{AT_GET}/security/0/key"
PRICE, ARGS = f"{AT_POST}/x-orchet-price", f"{AT_POST}/{PREFIX}args"
GONE = f"{AT_POST}/{PREFIX}probe/gone-when"
FAULTS: list[tuple[str, Change, str]] = [
    # Faults that differ in kind from the bad example of their code in lint_examples.yaml.
    ("ORC001", lambda s: s.update(openapi="3.3.0"), ""),
    (
        "ORC001",
        in_body(CANCEL, properties={"order_id": {"type": "texts"}}),
        f"{SENT}/order_id/type",
    ),
    ("ORC004", beside_the_tools, "/components/schemas/Unused/type"),
    ("ORC024", in_answer(GET, {"description": "Something."}), f"{AT_GET}/responses"),
    ("ORC024", in_xml(GET), f"{AT_GET}/responses"),
    (
        "ORC027",
        in_answer(GET, {"patternProperties": LOOKS}),
        f"{AT_GET}{ANSWER}/patternProperties/^(?!x-)",
    ),
    ("ORC030", lambda s: s.update({"x-orchet-tool": True}), "/x-orchet-tool"),
    (
        "ORC030",
        lambda s: s["paths"]["/cancel"].update({"x-orchet-tool": True}),
        "/paths/~1cancel/x-orchet-tool",
    ),
    ("ORC034", secured({"type": "mutualTLS"}), SECURED),
    ("ORC034", secured({"type": "http", "scheme": "digest"}), SECURED),
    ("ORC035", lambda s: s.pop("servers"), ""),
    ("ORC037", put(POST, x_orchet_irreversible=True), f"{AT_POST}/x-orchet-irreversible"),
    ("ORC037", put(CANCEL, x_orchet_read_only=True), f"{AT_CANCEL}/x-orchet-read-only"),
    (
        "ORC037",
        put(GET, x_orchet_read_only=True, x_orchet_irreversible=True),
        f"{AT_GET}/x-orchet-read-only",
    ),
    ("ORC037", put(POST, x_orchet_cancel_for="shop_place"), f"{AT_POST}/x-orchet-cancels"),
    ("ORC037", deleted_as_read, "/paths/~1orders/delete/x-orchet-read-only"),
    ("ORC040", put(GET, x_orchet_read_only=False), AT_GET),
    ("ORC031", put(GET, x_orchet_read_only=False), AT_GET),
    ("ORC044", put(POST, x_orchet_compensation_args={}), ARGS),
    ("ORC046", args(order_id="$request.query.id"), ARGS),
    ("ORC055", cancels_without_names, f"{AT_POST}/x-orchet-cancels"),
    ("ORC055", by_constants, ARGS),
    ("ORC056", lists_orders, f"{AT_POST}/{PREFIX}probe"),
    ("ORC059", put(GET, x_orchet_success_when="$response.body#/order_id == 7"), SUCCEEDS),
    ("ORC059", put(GET, x_orchet_success_when=["$statusCode != 202"]), SUCCEEDS),
    ("ORC059", gone_when('$response.body#/state == "over"'), GONE),
    ("ORC036", gone_when("$response.header.A"), GONE),
    ("ORC036", put(GET, x_orqen_examples="one"), f"{AT_GET}/x-orqen-examples"),
    ("ORC060", in_answer_of_post(priced({"type": "integer"})), AT_POST),
    ("ORC060", in_answer_of_post(priced({"type": "string", "format": "uuid"}, "PTS")), AT_POST),
    ("ORC061", put(POST, x_orchet_price="$request.body#/amount"), PRICE),
    ("ORC061", put(POST, x_orchet_price={"amount": "$response.body#/price/amount/x"}), PRICE),
    ("ORC036", put(POST, x_orchet_price="fare"), PRICE),
    ("ORC005", lambda s: s.update(owner="Ann"), ""),
    ("ORC067", takes("Authorization", "Who calls.", "header"), f"{AT_GET}/parameters/1"),
    (
        "ORC036",
        in_answer_of_post(priced({"type": "integer", "x-orchet-minor-units": {"EU": 2}})),
        f"{AT_POST}/responses/201/content/application~1json/schema/properties/total/x-orchet-minor-units",
    ),
]
