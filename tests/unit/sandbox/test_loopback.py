"""Documents turned towards the sandbox: nothing of them leads anywhere else."""

import json
from typing import Any

from orchestrator.catalog.catalog import Catalog
from orchestrator.sandbox import redirected

REAL = [{"url": "https://real.example/api"}]


def document(**more: Any) -> dict[str, Any]:
    operation = {
        "operationId": "find",
        "summary": "Find.",
        "x-orchet-tool": True,
        "servers": REAL,
        "security": [{"login": []}],
        "responses": {"200": {"description": "found"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Real", "version": "1"},
        "servers": REAL,
        "paths": {"/find": {"servers": REAL, "get": operation}},
        "components": {
            "securitySchemes": {
                "login": {
                    "type": "oauth2",
                    "flows": {
                        "clientCredentials": {
                            "tokenUrl": "https://login.real.example/token",
                            "scopes": {},
                        }
                    },
                }
            }
        },
        **more,
    }


def test_no_server_of_any_level_is_left() -> None:
    """Nor an endpoint that a token would be asked for at; the document that is given stays."""
    given = document()
    before = json.dumps(given)

    turned = redirected({"real": given}, "http://127.0.0.1:8700")

    assert "real.example" not in json.dumps(turned)
    assert json.dumps(given) == before


def test_no_server_is_left_behind_a_reference() -> None:
    """Where each operation is written elsewhere, and names the servers there."""
    given = document()
    given["x-parts"] = given["paths"]
    given["paths"] = {
        "/find": {"get": {"$ref": "#/x-parts/~1find/get", "x-orchet-price": False}},
        "/look": {"$ref": "#/x-parts/~1find"},
    }

    (turned,) = redirected({"real": given}, "http://127.0.0.1:8700").values()

    assert "real.example" not in json.dumps(turned["paths"])
    assert turned["paths"]["/find"]["get"]["operationId"] == "find"
    assert turned["paths"]["/find"]["get"]["x-orchet-price"] is False


def test_the_sandbox_may_move_to_another_port() -> None:
    """What a mission has pinned follows it there, by the server variables."""
    (turned,) = redirected(
        {"real": document()}, "http://{host}:{port}", variables={"host": "h", "port": "1"}
    ).values()
    tool = Catalog.from_documents({"real": turned}).tool("find")

    assert turned["servers"] == [
        {
            "url": "http://{host}:{port}/real",
            "variables": {"host": {"default": "h"}, "port": {"default": "1"}},
        }
    ]
    assert tool.name == "find"
