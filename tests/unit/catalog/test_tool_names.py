"""Names of tools: stable, valid for planners, and never the name of another."""

from typing import Any

import pytest

from orchestrator.catalog.operations import operations
from orchestrator.catalog.tool_names import TOOL_NAME, name_tools, why_named
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode

Ids = dict[tuple[str, str], Any]


def named(ids: Ids, document: str = "d") -> dict[tuple[str, str], str]:
    """The names of operations, by path and method."""
    paths: dict[str, Any] = {}
    for (path, method), said in ids.items():
        paths.setdefault(path, {})[method] = {} if said is None else {"operationId": said}
    root = DocumentNode.of(document, {"openapi": "3.1.0", "paths": paths})
    found = name_tools(operations(root))
    return {(path, method.lower()): name for (_, path, method), name in found.items()}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("listPets", "listPets"),
        ("x" * 64, "x" * 64),
        ("meta/root", "meta_root"),
        ("find pet by id", "find_pet_by_id"),
        ("post_oauth2_token#refresh", "post_oauth2_token_refresh"),
        ("2fa.verify", "_2fa_verify"),
        (None, "get_pets_petId"),
        ("", "get_pets_petId"),
        ("приём", "get_pets_petId"),
        (7, "get_pets_petId"),
        ({"$ref": "other.yaml#/id"}, "get_pets_petId"),
        ("x" * 65, "x" * 55 + "_2d8ad2b4"),
    ],
)
def test_a_name_is_the_operation_id_or_made_of_it(said: Any, name: str) -> None:
    """Without one, it is made of method and path."""
    found = named({("/pets/{petId}", "get"): said})[("/pets/{petId}", "get")]

    assert TOOL_NAME.fullmatch(found)
    if name.startswith("xxx") and len(said) > 64:
        assert found.startswith("x" * 55)
        assert len(found) == 64
    else:
        assert found == name


def test_a_repeated_operation_id_names_none_of_its_operations() -> None:
    """A contract that uses it means no tool; case and punctuation tell ids apart."""
    found = named({("/a", "get"): "do", ("/b", "get"): "do", ("/c", "get"): "other"})
    alike = named({("/a", "get"): "get-pet", ("/b", "get"): "get_pet", ("/c", "get"): "Get_Pet"})

    assert found == {("/a", "get"): "get_a", ("/b", "get"): "get_b", ("/c", "get"): "other"}
    assert set(alike.values()) == {"get-pet", "get_pet", "Get_Pet"}


def test_a_long_path_makes_a_name_that_stays_apart() -> None:
    """The mark is a hash of the whole path."""
    long = "/organizations/{organization}/repositories/{repository}/branches/{branch}"
    found = named({(f"{long}/rules", "get"): None, (f"{long}/locks", "get"): None})

    assert len(set(found.values())) == 2
    assert all(TOOL_NAME.fullmatch(name) for name in found.values())


def test_a_made_name_takes_no_name_that_is_said() -> None:
    """The generated name gets a mark, whichever of the two comes first."""
    ids: Ids = {("/a", "get"): "meta/root", ("/b", "get"): "meta_root", ("/c", "get"): "meta root"}
    found = named(ids)
    turned = named(dict(reversed(ids.items())))

    assert found == turned
    assert found["/b", "get"] == "meta_root"
    assert len(set(found.values())) == 3
    assert found["/a", "get"].startswith("meta_root_")


def test_it_is_told_why_a_tool_is_called_otherwise() -> None:
    """A tool named by its operationId has no reason."""
    paths: JsonObject = {
        "/a": {"get": {"operationId": "a.b"}, "put": {}, "post": {"operationId": "ok"}}
    }
    root = DocumentNode.of("d", {"openapi": "3.1.0", "paths": paths})
    told = {
        op.method: why_named(op, name_tools([op])["d", "/a", op.method]) for op in operations(root)
    }

    assert told == {
        "GET": "the operationId 'a.b' cannot name a tool",
        "PUT": "it has no operationId",
        "POST": None,
    }
