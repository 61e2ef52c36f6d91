"""Proposals beyond pairs: reads, probes, names and words; and the text of the overlay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.suggest.suggest import (
    Proposal,
    ProposedAction,
    applied,
    overlay_text,
    settle,
    suggest,
)
from orchestrator.catalog.tool import Effect
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import UsageError

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "client_reference": {"type": "string"}},
}
KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}


def parameter(name: str, where: str = "path") -> dict[str, Any]:
    """A parameter that is a short string."""
    return {
        "name": name,
        "in": where,
        "required": where == "path",
        "schema": {"type": "string", "maxLength": 80},
    }


def operation(name: str, status: str = "200", **more: Any) -> dict[str, Any]:
    """An operation that answers with an order."""
    content = {"content": {"application/json": {"schema": ORDER}}} if status != "204" else {}
    return {
        "operationId": name,
        "summary": f"{name.capitalize()} something.",
        "description": f"{name.capitalize()} something that is for somebody.",
        "responses": {status: {"description": "Done.", **content}},
        **more,
    }


def body(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def shop(**more: Any) -> dict[str, Any]:
    """A shop without a contract."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {
            "/orders": {
                "post": operation(
                    "place_order",
                    "201",
                    requestBody=body(client_reference={"type": "string", "maxLength": 90}),
                ),
                "get": operation("find_order", parameters=[parameter("client_reference", "query")]),
            },
            "/orders/{order_id}": {
                "parameters": [parameter("order_id")],
                "get": operation("get_order"),
                "delete": operation("cancel_order", "204"),
            },
            "/orders/search": {"post": operation("search_orders", requestBody=body())},
            "/carts/{cart_id}/lines": {
                "parameters": [parameter("cart_id")],
                "put": operation("fill_cart"),
            },
        },
        **more,
    }


def propose(document: dict[str, Any], **more: Any) -> Proposal:
    return settle(suggest("shop", document, file="shop.yaml", **more), document).proposal


def action(proposal: Proposal, tool: str) -> ProposedAction:
    (found,) = (a for a in proposal.actions if a.tool == tool)
    return found


def test_a_proposal_makes_a_catalog_without_lint_errors() -> None:
    """Reads, a search, a pair with its probe; what changes a cart is only asked about."""
    document = shop()
    proposal = propose(document)

    marked = applied(proposal, document)
    catalog = Catalog.from_documents({"shop": marked})
    place = catalog.tool("place_order")

    assert {name: tool.effect for name, tool in catalog.tools.items()} == {
        "place_order": Effect.OBLIGATION,
        "cancel_order": Effect.CANCEL,
        "find_order": Effect.READ,
        "get_order": Effect.READ,
        "search_orders": Effect.READ,
    }
    assert place.compensation is not None and place.compensation.probe is not None
    assert place.needs_confirmation
    assert place.compensation.cancel.arguments == {"order_id": "$response.body#/order_id"}
    assert place.compensation.probe.tool == "find_order"
    assert action(proposal, "fill_cart").is_question
    assert list(dict.fromkeys(a.path for a in proposal.actions)) == list(document["paths"])
    assert [f for f in lint({"shop": marked}) if f.severity == "error"] == []


_STATE = {"type": "string", "enum": ["OPEN", "SHIPPED", "CANCELLED"]}
_HELD = {"type": "object", "properties": {**ORDER["properties"], "state": _STATE}}


@pytest.mark.parametrize(
    ("item", "gone_when"),
    [
        (ORDER, "!$response.body#/orders/0"),
        (_HELD, '$response.body#/orders/0/state == "CANCELLED"'),
    ],
)
def test_a_probe_over_a_list_says_how_a_missing_one_looks(item: Any, gone_when: str) -> None:
    """Nothing is listed, or what goes on being listed has a state of its own."""
    document = shop()
    found = document["paths"]["/orders"]["get"]["responses"]["200"]
    listing = {"type": "object", "properties": {"orders": {"type": "array", "items": item}}}
    found["content"]["application/json"]["schema"] = listing

    assert action(propose(document), "place_order").update["x-orchet-compensation-probe"] == {
        "operationId": "find_order",
        "args": {"client_reference": "$request.body#/client_reference"},
        "gone-when": gone_when,
    }


@pytest.mark.parametrize(("parameters", "is_blind"), [([], True), ([KEY], False)])
def test_a_lost_answer_is_asked_about_where_nothing_finds_the_call(
    parameters: list[Any], is_blind: bool
) -> None:
    """The tool has no probe; with a key the call is sent again."""
    document = shop()
    del document["paths"]["/orders"]["get"]
    document["paths"]["/orders"]["post"]["parameters"] = parameters

    (pair,) = propose(document).pairs

    assert pair.is_blind is is_blind
    checks = action(propose(document), "place_order").checks
    assert any("Idempotency-Key" in check for check in checks) is is_blind


@pytest.mark.parametrize(
    ("path", "name", "more"),
    [
        ("/orders/search", "create_export", {}),
        ("/orders/search", "search_orders", {"status": "201"}),
        ("/orders/search", "search_orders", {"description": "Search. It creates a saved list."}),
        ("/orders/export", "search_orders", {}),
        ("/orders/claim", "claim_order", {}),
        ("/orders/convert", "convert", {}),
    ],
)
def test_a_search_is_a_read_only_where_path_words_and_answer_agree(
    path: str, name: str, more: dict[str, Any]
) -> None:
    """Else a person says so."""
    document = shop()
    del document["paths"]["/orders/search"]
    document["paths"][path] = {"post": operation(name, requestBody=body(), **more)}

    found = action(propose(document), name)

    assert found.is_question
    assert "x-orchet-read-only" not in found.update


def test_what_the_document_marks_stays_as_it_is() -> None:
    """An operation with a mark, true or false, gets no proposal and joins no pair."""
    document = shop()
    document["paths"]["/orders"]["post"]["x-orchet-tool"] = False
    document["paths"]["/orders/search"]["post"]["x-orchet-tool"] = True

    proposal = propose(document)

    assert proposal.marked_before == 2
    assert {a.tool for a in proposal.actions} == {
        "find_order",
        "get_order",
        "cancel_order",
        "fill_cart",
    }
    assert proposal.pairs == ()


@pytest.mark.parametrize(
    ("only", "tools"),
    [
        (["/carts"], {"fill_cart"}),
        (["/cart"], None),
        (["/orders/search"], {"search_orders"}),
        (["Ordering"], {"find_order"}),
        (["/carts/", "Ordering"], {"fill_cart", "find_order"}),
    ],
)
def test_only_a_path_or_a_tag(only: list[str], tools: set[str] | None) -> None:
    """Whole segments of a path; of nothing there is no proposal."""
    document = shop()
    document["paths"]["/orders"]["get"]["tags"] = ["Ordering"]

    if tools is None:
        with pytest.raises(UsageError, match="/cart"):
            propose(document, only=only)
    else:
        assert {a.tool for a in propose(document, only=only).actions} == tools


def test_missing_words_are_made_of_names_and_asked_about() -> None:
    """The texts list the inputs and the properties of the answer, if one is declared."""
    document = shop()
    read = document["paths"]["/orders"]["get"]
    del read["summary"], read["description"]

    made = action(propose(document), "find_order")
    read["responses"] = {"200": {"description": "ok"}}
    silent = action(propose(document), "find_order")

    assert made.update["summary"] == "Find order."
    assert made.update["description"] == (
        "Find order. Takes client reference. Returns order id, client reference."
    )
    assert any("say when to use it" in check for check in made.checks)
    assert "Returns" not in str(silent.update["description"])


def test_a_summary_is_the_first_sentence_without_markup() -> None:
    """Tags of an HTML description are removed."""
    document = shop()
    found = document["paths"]["/orders"]["get"]
    del found["summary"]
    found["description"] = "<p>Finds an <b>order</b> that was placed. With\nits lines.</p>"

    made = action(propose(document), "find_order").update

    assert made["summary"] == "Finds an order that was placed."


def test_deprecated_operations_are_listed_as_left_out_once() -> None:
    """Nobody begins with them; one line names all of them."""
    document = shop()
    for path, method in (("/orders/search", "post"), ("/orders", "get")):
        document["paths"][path][method]["deprecated"] = True

    proposal = propose(document)

    assert not {"search_orders", "find_order"} & {a.tool for a in proposal.actions}
    assert proposal.left_out == ("deprecated: GET /orders, POST /orders/search",)


def test_a_consequence_is_asked_about_its_card_its_people_and_its_price() -> None:
    """Documents seldom say these; the names suggest them, and a person decides."""
    text = {"type": "string"}
    said = text | {"maxLength": 90, "description": "Makes the order idempotent."}
    mail, total = text | {"format": "email"}, {"type": "number"}
    sent = body(buyer_mail=mail, first_name=text, total=total, order_ref=said)
    orders = {"post": operation("place_order", "201", requestBody=sent)}

    (found,) = propose(shop(paths={"/orders": orders})).actions

    asked = " ".join(found.checks)
    assert "x-orchet-requires-confirmation: structured-order" in asked
    assert "x-orchet-pii-required: [buyer_mail, first_name]" in asked
    assert "x-orchet-price: $request.body#/total" in asked
    assert "x-orchet-idempotency-key: order_ref" in asked
    assert not {"x-orchet-pii-required", "x-orchet-price"} & found.update.keys()


def test_questions_become_actions_by_removing_what_begins_their_lines() -> None:
    """The overlay says so itself, and it works to the letter."""
    text = overlay_text(propose(shop()))

    kept = "\n".join(line.removeprefix("# ") for line in text.split("actions:")[1].split("\n"))

    assert "'# ' that begins" in text
    targets = [one["target"] for one in load_yaml(f"actions:{kept}")["actions"]]
    assert len(targets) == len(propose(shop()).actions)


def test_an_error_in_a_shared_part_makes_questions_of_the_tools_that_use_it() -> None:
    """The linter would call it an error of the proposal; other tools stay proposed."""
    document = shop(components={"schemas": {"Id": {"type": "strng"}}})
    found = document["paths"]["/orders/{order_id}"]["get"]["responses"]["200"]
    found["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/Id"}}}

    settled = settle(propose(document), document)

    assert not [f for f in settled.findings if f.severity == "error"]
    assert action(settled.proposal, "get_order").is_question
    assert not action(settled.proposal, "find_order").is_question


def test_a_tool_that_lint_calls_an_error_becomes_a_question_with_the_reason() -> None:
    """Nothing is proposed that the linter refuses; a cancel takes its other end along."""
    document = shop()
    document["paths"]["/orders/{order_id}"]["delete"]["security"] = [{"nobody": []}]

    proposal = propose(document)

    assert proposal.pairs == ()
    assert any("ORC034" in check for check in action(proposal, "cancel_order").checks)
    assert any("cancel_order" in check for check in action(proposal, "place_order").checks)


def test_a_document_without_a_sure_tool_still_gives_an_overlay() -> None:
    """An overlay has at least one action: this one changes nothing."""
    document = shop(paths={"/carts": {"put": operation("fill_cart")}})
    proposal = propose(document)

    assert (proposal.marked, applied(proposal, document)) == (0, document)


def test_a_document_without_a_server_is_told_at_the_head() -> None:
    """The fault concerns no single tool: one overlay action adds a server for all."""
    document = shop()
    del document["servers"]

    proposal = propose(document)

    assert len(proposal.pairs) == 1
    assert proposal.marked == propose(shop()).marked
    assert any("ORC035" in remark for remark in proposal.remarks)


HOSTILE = "Ends: the #comment\n  - target: $.info\x1b[2J\u2028 'quoted' \"twice\" {a: b}"


@pytest.mark.parametrize("key", ["summary", "description"])
def test_texts_of_others_never_become_yaml(key: str) -> None:
    """Whatever a document says, the overlay reads as it was meant."""
    document = shop()
    document["paths"]["/orders"]["get"][key] = HOSTILE
    document["paths"]['/o\'rders {x}: # "q"'] = {"get": operation("odd")}
    document["info"]["title"] = HOSTILE

    proposal = propose(document)
    read = load_yaml(overlay_text(proposal))

    assert [a["update"] for a in read["actions"]] == [
        dict(a.update) for a in proposal.actions if not a.is_question
    ]
    assert set(read) == {"overlay", "info", "extends", "actions"}
    assert all(op["x-orchet-tool"] is True for op in _marked(applied(proposal, document), proposal))


def _marked(document: dict[str, Any], proposal: Proposal) -> list[dict[str, Any]]:
    return [
        document["paths"][a.path][a.method.lower()] for a in proposal.actions if not a.is_question
    ]


def test_what_a_body_cannot_be_without_makes_it_required() -> None:
    """A document that lets such a body be left out seldom means that nothing is sent."""
    sent = body(note={"type": "string"}, client_reference={"type": "string"})
    del sent["required"]
    sent["content"]["application/json"]["schema"]["required"] = ["note"]
    document = shop()
    document["paths"]["/orders"]["post"]["requestBody"] = sent
    placed = action(suggest("shop", document, file="s.yaml"), "place_order")
    sent["required"] = True
    whole = action(suggest("shop", document, file="s.yaml"), "place_order")

    assert placed.update["requestBody"] == {"required": True}
    assert any("body be left out" in check for check in placed.checks)
    assert "requestBody" not in whole.update


@pytest.mark.parametrize(("status", "is_pair"), [("201", True), ("200", False)])
def test_an_id_may_stand_in_the_address_of_what_was_made(status: str, is_pair: bool) -> None:
    """HTTP says so of the Location of a 201 without a body; of others it may lead anywhere."""
    document = shop()
    headers = {"Location": {"schema": {"type": "string"}}}
    post = document["paths"]["/orders"]["post"]
    post["responses"] = {status: {"description": "Done.", "headers": headers}}

    found = action(propose(document), "place_order")

    assert found.is_question is not is_pair
    assert (found.update.get("x-orchet-cancels") == "cancel_order") is is_pair
    args = found.update.get("x-orchet-compensation-args")
    assert args == ({"order_id": "$response.header.Location"} if is_pair else None)


_DONE = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
_ANSWERS_DONE = {"content": {"application/json": {"schema": _DONE}}}


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/session/logout", {"summary": "End the session."}),
        ("/box.uninstall", {"operationId": "box_uninstall", "summary": "Uninstalls the box."}),
        ("/account/delete/verify", {"operationId": "accountCode", "summary": "A code."}),
        ("/letters/{order_id}/send", {"operationId": "getLetterSend", "summary": "A letter."}),
        ("/entry", {"parameters": ["list", "delete"], "operationId": "entry", "summary": "Entry."}),
        ("/gate", {"operationId": "gate", "summary": "Gate.", "responses": {"200": {}}}),
        ("/letters/{order_id}/lock", {"operationId": "hold", "summary": "Locks a letter up."}),
        ("/api", {"operationId": "api", "summary": "An API.", "parameters": None}),
        ("/door", {"operationId": "d", "summary": "Door.", "responses": {"200": _ANSWERS_DONE}}),
    ],
)
def test_a_get_whose_words_speak_of_a_change_is_asked_about(
    path: str, more: dict[str, Any]
) -> None:
    """It is proposed as a consequence for a person to decide, never as a fact."""
    if "parameters" in more:
        listed = {"enum": more["parameters"]} if more["parameters"] else {}
        method = {**parameter("method", "query"), "required": True}
        more = {**more, "parameters": [{**method, "schema": {"type": "string", **listed}}]}
    if "{" in path:
        more = {**more, "parameters": [parameter("order_id")]}
    written = operation("thing_do", **{"summary": "Thing.", **more})
    written["responses"] = {
        s: {"description": "Done.", **r} for s, r in written["responses"].items()
    }

    (found,) = propose(shop(paths={path: {"get": written}})).actions

    assert found.is_question
    assert found.update["x-orchet-read-only"] is False
    assert found.checks


@pytest.mark.parametrize(
    ("path", "name", "summary"),
    [
        ("/orders", "orders", "Orders."),
        ("/folders/trash/items", "trashed_items", "Items in the trash."),
        ("/trains/schedule", "train_schedule", "Schedule of a train."),
        ("/reports/{order_id}/transfer", "report_transfer", "The transfer of a report."),
        ("/roles/delete-requests", "getDeleteRequests", "Requests to delete."),
    ],
)
def test_a_get_of_nouns_is_a_read(path: str, name: str, summary: str) -> None:
    """A noun that is a verb as well names the resource."""
    more: dict[str, Any] = {"parameters": [parameter("order_id")]} if "{" in path else {}
    written = operation(name, summary=summary, **more)

    (found,) = propose(shop(paths={path: {"get": written}})).actions

    assert not found.is_question
    assert "x-orchet-read-only" not in found.update


_DOCUMENTS = sorted(
    file
    for folder in ("tests/documents", "tests/documents/foreign", "docs/examples", "specs")
    for file in (Path(__file__).parents[4] / folder).glob("*.yaml")
    if "openapi" in load_yaml(file.read_text("utf-8"))  # else it is an overlay
)


@pytest.mark.parametrize("file", _DOCUMENTS, ids=lambda file: file.stem)
def test_nothing_is_proposed_that_the_linter_calls_an_error(file: Path) -> None:
    """Over whole documents, as if nobody had written a contract for them yet."""
    document = _without_contract(load_yaml(file.read_text("utf-8")))
    proposal = settle(suggest(file.stem, document, file=file.name), document).proposal

    found = lint({file.stem: applied(proposal, document)})

    assert proposal.actions
    assert [f for f in found if f.severity == "error" and f.code != "ORC035"] == []


def _without_contract(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_contract(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {k: _without_contract(v) for k, v in value.items() if not str(k).startswith("x-or")}
