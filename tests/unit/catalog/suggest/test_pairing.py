"""Which rollback pairs are proposed for small documents, and which are only asked about."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.catalog.suggest.suggest import Proposal, settle, suggest

TICKET = {"id": "string", "title": "string", "state": "string"}


def answer(body: Any, status: str = "200", **headers: Any) -> dict[str, Any]:
    """Responses with one success; a body is a schema, or property names with their types."""
    content = {"content": {"application/json": {"schema": body}}} if body else {}
    more = {"headers": headers} if headers else {}
    return {status: {"description": "Done.", **content, **more}}


def thing(properties: dict[str, Any]) -> dict[str, Any]:
    """An object schema; a type stands for a schema."""
    written = {n: {"type": t} if isinstance(t, str) else t for n, t in properties.items()}
    return {"type": "object", "properties": written}


def operation(
    name: str, responses: dict[str, Any], sent: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """One operation that is described."""
    body = {
        "requestBody": {"required": True, "content": {"application/json": {"schema": sent}}},
    }
    return {
        "operationId": name,
        "summary": more.pop("summary", name.replace("_", " ") + "."),
        "description": more.pop(
            "description", f"Use this to {name.replace('_', ' ')} for somebody."
        ),
        "responses": responses,
        **(body if sent is not None else {}),
        **more,
    }


def parameters(path: str) -> list[dict[str, Any]]:
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    return [
        {"name": n, "in": "path", "required": True, "schema": {"type": "string", "maxLength": 40}}
        for n in names
    ]


def proposed(paths: dict[str, dict[str, Any]], **more: Any) -> Proposal:
    """Return the proposal for a document of these paths, after the linter's check."""
    written: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Desk", "version": "1"},
        "servers": [{"url": "https://desk.example"}],
        "paths": {
            path: {"parameters": parameters(path), **methods} if parameters(path) else methods
            for path, methods in paths.items()
        },
    }
    only = more.pop("only", ())
    return settle(suggest("desk", written, file="desk.yaml", only=only), written).proposal


def pairs(paths: dict[str, dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(p.tool, p.cancel): dict(p.args) for p in proposed(paths).pairs}


def asked(proposal: Proposal, tool: str) -> str:
    """All that is asked about one operation that is not proposed."""
    (action,) = (a for a in proposal.actions if a.tool == tool)
    assert action.is_question
    return " ".join(action.checks)


def likely(paths: dict[str, dict[str, Any]], maker: str) -> str:
    """Return the questions on a pair that is only likely."""
    assert pairs(paths) == {}
    return asked(proposed(paths), maker)


def desk(made: dict[str, Any], parameter: str = "ticket_id", **more: Any) -> dict[str, Any]:
    """Tickets that are opened, read and deleted."""
    read = more.pop("read", made)
    sent = more.pop("sent", thing({"title": "string"}))
    words = more.pop("words", {})
    return {
        "/tickets": {"post": operation("open_ticket", answer(made, "201"), sent, **words)},
        f"/tickets/{{{parameter}}}": {
            "get": operation("get_ticket", answer(read)),
            "delete": operation("delete_ticket", answer(None, "204")),
        },
    }


@pytest.mark.parametrize(
    ("parameter", "made", "expression"),
    [
        ("ticket_id", TICKET, "$response.body#/id"),
        ("ticketId", {"ticket_id": "string", "title": "string"}, "$response.body#/ticket_id"),
        ("id", {"ticket_id": "string", "project_id": "string"}, "$response.body#/ticket_id"),
        ("ticket", TICKET, "$response.body#/id"),
        ("ticket_uuid", {"uuid": "string", "title": "string"}, "$response.body#/uuid"),
        ("ticket_number", {"number": "integer", "title": "string"}, "$response.body#/number"),
        ("ticket_id", {"data": thing(TICKET)}, "$response.body#/data/id"),
        (
            "id",
            {"ticket": thing(TICKET), "links": thing({"self": "string"})},
            "$response.body#/ticket/id",
        ),
    ],
)
def test_the_id_is_found_where_the_answer_holds_it(
    parameter: str, made: dict[str, Any], expression: str
) -> None:
    """The parameter's name, its rest without the resource, and one wrapper lead to the id."""
    found = pairs(desk(thing(made), parameter))

    assert found == {("open_ticket", "delete_ticket"): {parameter: expression}}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (thing({"title": "string"}), "surely ticket_id"),
        (None, "declares no answer"),
        (thing({"project_id": "string", "title": "string"}), "surely ticket_id"),
        (thing({"tickets": {"type": "array", "items": thing(TICKET)}}), "surely ticket_id"),
        (thing({"job": thing({"id": "string"}), "log": thing({"id": "string"})}), "surely ticket"),
    ],
)
def test_an_answer_without_a_sure_id_is_asked_about(made: Any, why: str) -> None:
    """Another thing's id, one of many, none at all; a Location may be that of what is shown."""
    paths = desk(made, read=thing(TICKET))
    if made is not None:
        paths["/tickets"]["post"]["responses"]["201"]["headers"] = {
            "Location": {"schema": {"type": "string"}}
        }

    said = likely(paths, "open_ticket")
    assert why in said
    assert "delete_ticket" in said


def test_every_parent_is_filled_from_the_path_by_its_place() -> None:
    """The first id is called otherwise there; it alone does not find a lost call."""
    made = operation("open_ticket", answer(thing(TICKET), "201"), thing({}))
    drop = operation("delete_ticket", answer(None, "204"))
    paths = {
        "/projects/{pid}/tickets": {"post": made},
        "/projects/{project}/tickets/{ticket_id}": {"delete": drop},
    }

    (pair,) = proposed(paths).pairs

    assert dict(pair.args) == {"project": "$request.path.pid", "ticket_id": "$response.body#/id"}
    assert pair.is_blind


def test_two_ids_of_one_thing_are_read_from_the_body() -> None:
    """A membership has no id of its own: the one that is sent names it."""
    sent = {**thing({"user_id": "string"}), "required": ["user_id"]}
    add = operation("add_member", answer(thing({"id": "string"}), "201"), sent)
    drop = operation("remove_member", answer(None, "204"))
    members = "/teams/{team_id}/members"
    paths = {members: {"post": add}, f"{members}/{{user_id}}": {"delete": drop}}

    assert pairs(paths) == {
        ("add_member", "remove_member"): {
            "team_id": "$request.path.team_id",
            "user_id": "$request.body#/user_id",
        }
    }


ONE = "/tickets/{ticket_id}"
SHOWN = answer(thing(TICKET))
JOB = thing({"id": "string", "progress": "number", "queue": "string"})
REASON = {**thing({"reason": "string"}), "required": ["reason"]}
DAY = {"type": "string", "format": "date"}
MANY = {"type": "array", "items": thing(TICKET), "description": "Tickets.", "maxItems": 9}


def desk_and(
    more: dict[str, dict[str, Any]], *, opens: bool = True, deletes: bool = True
) -> dict[str, Any]:
    """The desk with other operations too, and without its own where it is told so."""
    paths = desk(thing(TICKET))
    if not opens:
        del paths["/tickets"]
    if not deletes:
        del paths[ONE]["delete"]
    for path, methods in more.items():
        paths.setdefault(path, {}).update(methods)
    return paths


def taken_back(verb: str, sent: dict[str, Any] | None = None, *, deletes: bool = False) -> Any:
    """A ticket that is taken back at a verb below it."""
    cancel = {"post": operation("take_back", SHOWN, sent)}
    return desk_and({f"{ONE}/{verb}": cancel}, deletes=deletes)


@pytest.mark.parametrize(
    ("paths", "maker", "why"),
    [
        # A delete would remove the resource that existed before the change.
        (
            desk_and({ONE: {"put": operation("change_it", SHOWN, thing({}))}}, opens=False),
            "change_it",
            "nothing here brings back",
        ),
        # A fax that was sent to somebody stays sent, though its record can be deleted.
        (
            desk_and({"/tickets/send": {"post": operation("send_it", SHOWN, REASON)}}, opens=False),
            "send_it",
            "may be cancelled by delete_ticket",
        ),
        (desk(thing(TICKET), sent=thing({"to": "string"})), "open_ticket", "reaches somebody"),
        # A job has an id too; what is read under the path shows that it is none of a ticket's.
        (desk(JOB, read=thing(TICKET)), "open_ticket", "another form"),
        # An archived ticket may return, and a refund has no stated amount.
        (taken_back("archive"), "open_ticket", "may stand for a cancel"),
        (taken_back("refund"), "open_ticket", "may stand for a cancel"),
        (taken_back("cancel", REASON), "open_ticket", "surely reason"),
        # A ticket is deleted, or cancelled: which of them is meant is asked.
        (taken_back("cancel", deletes=True), "open_ticket", "take_back may be meant as well"),
    ],
)
def test_what_is_not_surely_cancelled_is_asked_about(
    paths: dict[str, Any], maker: str, why: str
) -> None:
    """Nothing is proposed, and the question says why."""
    assert why in likely(paths, maker)


@pytest.mark.parametrize(
    ("paths", "cancel"),
    [
        (taken_back("cancel"), "take_back"),
        (taken_back("revoke"), "take_back"),
        # The day to which something lasts reaches nobody.
        (desk(thing(TICKET), sent=thing({"from": DAY, "to": DAY})), "delete_ticket"),
        # The photo of a ticket is not the ticket, and several tickets are not one.
        (desk_and({f"{ONE}/photo": {"delete": operation("d", {})}}, deletes=False), None),
        (desk_and({f"{ONE}/notes/{{id}}": {"delete": operation("d", {})}}, deletes=False), None),
        (desk(MANY, sent=MANY, read=thing(TICKET)), None),
        # A message stays sent, a change stays made, a search creates nothing.
        (desk(thing(TICKET), words={"summary": "Create or update a ticket."}), None),
        (desk(thing(TICKET), words={"summary": "Send a ticket."}), None),
        (desk(thing(TICKET), words={"operationId": "search_tickets", "summary": "Find."}), None),
    ],
)
def test_what_is_made_is_paired_with_what_cancels_it(
    paths: dict[str, Any], cancel: str | None
) -> None:
    """And with nothing that cancels another thing."""
    made = {("open_ticket", cancel): {"ticket_id": "$response.body#/id"}} if cancel else {}

    assert pairs(paths) == made


@pytest.mark.parametrize(
    ("cancel", "method"), [("delete", "post"), ("cancel", "put"), ("remove", "delete")]
)
def test_a_cancel_verb_may_stand_before_the_id(cancel: str, method: str) -> None:
    """POST /tickets/create and POST /tickets/delete/{ticket_id}."""
    made = operation("open_ticket", answer(thing(TICKET), "201"), thing({"title": "string"}))
    paths = {
        "/tickets/create": {"post": made},
        "/tickets/{ticket_id}": {"get": operation("get_ticket", answer(thing(TICKET)))},
        f"/tickets/{cancel}/{{ticket_id}}": {method: operation("drop", answer(None, "204"))},
    }

    assert pairs(paths) == {("open_ticket", "drop"): {"ticket_id": "$response.body#/id"}}


@pytest.mark.parametrize(
    ("summary", "is_of_ticket"),
    [
        ("Stop a ticket session", False),
        ("Stop a ticket", True),
        ("Stop a ticket and its session", True),
        ("", True),
    ],
)
def test_an_action_that_ends_a_part_does_not_end_the_whole(
    summary: str, is_of_ticket: bool
) -> None:
    """What `/tickets/{id}/session` creates is ended at `/tickets/{id}/terminate`."""
    paths = desk(thing(TICKET))
    paths["/tickets/{ticket_id}/session"] = {
        "post": operation("create_session", answer(thing({"ok": "string"}), "201"), thing({}))
    }
    paths["/tickets/{ticket_id}/terminate"] = {
        "post": operation("terminate_it", answer(None, "202"), summary=summary)
    }

    proposal = proposed(paths)

    assert [pair.cancel for pair in proposal.pairs] == ([] if is_of_ticket else ["delete_ticket"])
    likely_of_part = "may be cancelled by terminate_it" in asked(proposal, "create_session")
    assert likely_of_part is not is_of_ticket


def linked(**link: Any) -> dict[str, dict[str, Any]]:
    """A job that is queued and links to what withdraws its ticket."""
    paths = {
        "/tickets/{ticket}": {"delete": operation("drop_ticket", answer(None, "204"))},
        "/jobs": {
            "post": operation("queue_ticket", answer(thing({"made": "string"}), "201"), thing({}))
        },
    }
    paths["/jobs"]["post"]["responses"]["201"]["links"] = {"undo": link}
    return paths


@pytest.mark.parametrize("name", ["ticket", "path.ticket"])
def test_what_the_document_links_is_a_pair(name: str) -> None:
    """An OpenAPI link names the cancel of an answer, and the values that it takes."""
    found = pairs(linked(operationId="drop_ticket", parameters={name: "$response.body#/made"}))

    assert found == {("queue_ticket", "drop_ticket"): {"ticket": "$response.body#/made"}}


@pytest.mark.parametrize(
    "link",
    [
        {"operationId": "queue_ticket", "parameters": {"ticket": "$response.body#/made"}},
        {"operationId": "drop_ticket", "parameters": {"other": "$response.body#/made"}},
        {"operationId": "drop_ticket", "parameters": {"ticket": "$url"}},
        {"operationId": "nobody", "parameters": {}},
        {"operationId": 7, "parameters": []},
    ],
)
def test_a_link_that_fills_no_cancel_pairs_nothing(link: dict[str, Any]) -> None:
    """To what makes things, without what is required, by what no call can answer, or malformed."""
    assert pairs(linked(**link)) == {}


def test_a_cancel_that_is_only_accepted_is_asked_about() -> None:
    """Rollback would wait without any sign of the outcome; the pair itself is sure."""
    paths = desk(thing(TICKET))
    paths["/tickets/{ticket_id}"]["delete"]["responses"] = answer(None, "202")

    proposal = proposed(paths)

    (made,) = (a for a in proposal.actions if a.tool == "open_ticket")
    assert not made.is_question
    assert any("$statusCode == 202" in check for check in made.checks)


@pytest.mark.parametrize("is_other_way", [True, False])
def test_a_cancel_belongs_to_one_tool(is_other_way: bool) -> None:
    """A contract names one; what nothing else makes may be made below another thing."""
    paths = desk(thing(TICKET))
    below = operation("open_in_list", answer(thing(TICKET), "201"), thing({}))
    paths["/lists/{list_id}/tickets"] = {"post": below}
    if not is_other_way:
        del paths["/tickets"]

    maker = "open_ticket" if is_other_way else "open_in_list"
    assert pairs(paths) == {(maker, "delete_ticket"): {"ticket_id": "$response.body#/id"}}
    (below_action,) = (a for a in proposed(paths).actions if a.tool == "open_in_list")
    assert below_action.is_question is is_other_way


def test_a_cancel_beside_the_things_is_told_by_its_body() -> None:
    """The values for the cancel's path are in the forward request."""
    sent = thing({"pickup_number": "string", "depot": "string"})
    book = operation("book_pickup", answer(thing({"pickup_number": "string"})), thing({}))
    both = {**sent, "required": [*sent["properties"]]}
    cancel = operation("cancel_pickup", answer(None, "204"), both)
    paths = {"/depots/{depot}/pickups": {"post": book}, "/pickups/cancel": {"post": cancel}}

    said = likely(paths, "book_pickup")

    assert "is depot the same for both?" in said
    assert "depot: $request.path.depot, pickup_number: $response.body#/pickup_number" in said


def test_a_delete_of_a_collection_is_told_by_its_body() -> None:
    """Without one it would take away all."""
    track = {**thing({"uri": "string"}), "required": ["uri"]}
    one, every = (operation("drop", answer(None, "204"), sent) for sent in (track, None))
    paths = {"/lists/{list_id}/tracks": {"post": operation("add", answer(None, "204"), track)}}
    paths["/lists/{list_id}/tracks"]["delete"] = one

    said = likely(paths, "add")

    assert "list_id: $request.path.list_id, uri: $request.body#/uri" in said
    paths["/lists/{list_id}/tracks"]["delete"] = every
    assert "x-orchet-cancels: drop" not in likely(paths, "add")


@pytest.mark.parametrize("name", ["ids", "ticket_ids"])
def test_a_cancel_of_several_is_told_of_one(name: str) -> None:
    """The list holds what was made, and nothing else."""
    several = {name: {"type": "array", "items": {"type": "string"}}}
    paths = desk(thing(TICKET))
    del paths["/tickets/{ticket_id}"]["delete"]
    paths["/tickets/delete"] = {
        "post": operation("drop", answer(None, "204"), {**thing(several), "required": [name]})
    }

    assert pairs(paths) == {("open_ticket", "drop"): {name: ["$response.body#/id"]}}


def test_several_parameters_may_name_a_thing_together() -> None:
    """Each value is read under its own name, from the request or from the answer."""
    made = thing({"owner": "string", "bonus_no": "integer", "amount": "number"})
    sent = {**thing({"owner": "string", "amount": "number"}), "required": ["owner"]}
    paths = {
        "/bonuses": {"post": operation("grant_bonus", answer(made, "201"), sent)},
        "/bonuses/{owner}/{bonus_no}": {
            "get": operation("get_bonus", answer(made)),
            "delete": operation("delete_bonus", answer(None, "204")),
        },
    }

    assert pairs(paths) == {
        ("grant_bonus", "delete_bonus"): {
            "owner": "$request.body#/owner",
            "bonus_no": "$response.body#/bonus_no",
        }
    }


def test_a_name_that_the_caller_chose_may_have_been_there() -> None:
    """A DELETE by it takes away whatever has it."""
    record = {**thing({"name": "string", "type": "string"}), "required": ["name", "type"]}
    paths = {
        "/records": {"post": operation("create_record", answer(record, "201"), record)},
        "/records/{name}/{type}": {
            "get": operation("get_record", answer(record)),
            "delete": operation("delete_record", answer(None, "204")),
        },
    }

    assert "there before would be removed, too" in likely(paths, "create_record")


@pytest.mark.parametrize(("states", "is_found"), [(["open", "cancelled"], True), (["open"], False)])
def test_a_state_may_say_that_a_thing_is_cancelled(states: list[str], is_found: bool) -> None:
    """The state is sent as a constant if exactly one value means cancelled."""
    paths = desk(thing(TICKET))
    sent = {**thing({"state": {"type": "string", "enum": states}}), "required": ["state"]}
    del paths["/tickets/{ticket_id}"]["delete"]
    paths["/tickets/{ticket_id}"]["patch"] = operation("change", answer(thing(TICKET)), sent)

    said = likely(paths, "open_ticket")

    args = "x-orchet-cancels: change, with the args ticket_id: $response.body#/id, state: cancelled"
    assert (args in said) is is_found


def test_what_joins_two_things_is_undone_by_what_parts_them() -> None:
    """They may have been joined before, which is asked."""
    path = "/courses/{course_id}/students/{student_id}"
    put, drop = (operation(name, answer(None, "204")) for name in ("enroll", "unenroll"))

    said = likely({path: {"put": put, "delete": drop}}, "enroll")

    assert "what was there before the call would be removed, too" in said
    assert "course_id: $request.path.course_id, student_id: $request.path.student_id" in said


@pytest.mark.parametrize(
    ("made_at", "read_at", "is_probe"),
    [
        ("/payments", "/payments", True),
        ("/payments", "/payments/by-reference", True),
        ("/payments", "/cards", False),
        ("/shops/{shop_id}/payments", "/shops/{shop_id}/cards", False),
    ],
)
def test_a_probe_is_about_the_thing_that_was_made(
    made_at: str, read_at: str, is_probe: bool
) -> None:
    """A list of other things with the same reference proves nothing."""
    made = thing({"id": "string", "reference_id": "string"})
    sent = thing({"reference_id": {"type": "string", "maxLength": 40}})
    wanted = {"name": "reference_id", "in": "query", "required": True, "schema": {"type": "string"}}
    read = operation("find_it", answer(thing({"found": {"type": "array", "items": made}})))
    paths: dict[str, dict[str, Any]] = {
        made_at: {"post": operation("make_payment", answer(made, "201"), sent)},
        f"{made_at}/{{payment_id}}": {"delete": operation("void_payment", answer(None, "204"))},
    }
    paths.setdefault(read_at, {})["get"] = {**read, "parameters": [wanted]}

    found = [pair for pair in proposed(paths).pairs if pair.probe is not None]

    assert bool(found) is is_probe


def test_the_description_of_an_id_outweighs_its_name() -> None:
    """The input of the cancel is described as another property than the one of its name."""
    said = {"type": "string", "description": "The unique id of the case."}
    shown = {"type": "string", "description": "The number that people see."}
    made = thing({"id": said, "case_id": shown})
    cancel = operation("close_case", answer(None, "204"))
    path = {"name": "case_id", "in": "path", "required": True, "schema": {"type": "string"}}
    described = {**path, "description": "The unique id of the case"}

    opened = operation("open_case", answer(made, "201"), thing({}))
    deleted = {**cancel, "parameters": [described]}
    found = pairs({"/cases": {"post": opened}, "/cases/{case_id}": {"delete": deleted}})

    assert found == {("open_case", "close_case"): {"case_id": "$response.body#/id"}}


@pytest.mark.parametrize(
    ("headers", "properties", "read"),
    [
        ({"ETag": {"schema": {"type": "string"}}}, {}, "$response.header.ETag"),
        ({}, {"@odata.etag": "string"}, "$response.body#/@odata.etag"),
        ({}, {"revision": "string"}, None),
    ],
)
def test_the_version_of_a_cancel_is_the_etag_of_what_was_made(
    headers: dict[str, Any], properties: dict[str, Any], read: str | None
) -> None:
    """By the names that HTTP gives them; another name is asked about."""
    paths = desk(thing({**TICKET, **properties}))
    paths["/tickets"]["post"]["responses"]["201"]["headers"] = headers
    version = {"name": "If-Match", "in": "header", "required": True, "schema": {"type": "string"}}
    paths["/tickets/{ticket_id}"]["delete"]["parameters"] = [version]

    found = pairs(paths).get(("open_ticket", "delete_ticket"), {})

    assert found.get("If-Match") == read
