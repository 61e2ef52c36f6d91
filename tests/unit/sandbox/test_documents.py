"""Served documents: kinds of operations, paths and ids."""

from typing import Any

import pytest

from orchestrator.sandbox import DocumentError, create_app
from orchestrator.sandbox.app import memories_of
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.served_operations import OperationKind


def test_a_document_without_paths_costs_itself_alone(shop: dict[str, Any]) -> None:
    """It is listed as not served; if no document has paths there is nothing to serve."""
    hollow = {"openapi": "3.1.0"}
    with EffectLedger() as ledger:
        memories = memories_of(create_app({"hooks": hollow, "shop": shop}, ledger=ledger))
        with pytest.raises(DocumentError, match="no paths in 'hooks'"):
            create_app({"hooks": hollow}, ledger=ledger)
    told = {memory.document: [str(one) for one in memory.skipped] for memory in memories}
    assert told["shop"] == []
    assert told["hooks"] == [
        "hooks: the document is not served: /paths: it has none, so there is nothing to serve; "
        "add them, or leave the document out"
    ]


def test_kinds_follow_the_contract(shop: dict[str, Any]) -> None:
    kinds = {o.operation_id: o.kind for o in read_document("shop", shop).operations}

    assert kinds == {
        "book_search": OperationKind.READ,
        "order_list": OperationKind.READ,
        "order_place": OperationKind.CREATE,
        "order_get": OperationKind.READ,
        "order_drop": OperationKind.CANCEL,
        "order_approve": OperationKind.UPDATE,
        "order_ship": OperationKind.CREATE,
        "order_recall": OperationKind.CANCEL,
        "order_find": OperationKind.READ,
        "order_cancel": OperationKind.CANCEL,
        "voucher_create": OperationKind.CREATE,
    }


def test_literal_path_goes_before_a_parameter(shop: dict[str, Any]) -> None:
    document = read_document("shop", shop)
    found = document.candidates("GET", "/orders/find", {})
    named = document.candidates("GET", "/orders/ord_1", {})

    assert [operation.operation_id for operation in found] == ["order_find"]
    assert [operation.operation_id for operation in named] == ["order_get"]


def test_ids_that_a_vault_fills_in_are_not_ours(shop: dict[str, Any]) -> None:
    """An id that a list also shows is free when the contract calls it personal."""
    before = read_document("shop", shop).known_ids
    shop["paths"]["/orders"]["post"]["x-orchet-pii-required"] = ["book_id"]
    after = read_document("shop", shop).known_ids

    assert before == {"book_id", "order_id", "voucher_id"}
    assert after == {"order_id", "voucher_id"}
