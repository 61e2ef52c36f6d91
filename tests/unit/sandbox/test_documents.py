"""RuntimeExpression documents, and saying what is wrong with one."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.sandbox import DocumentError, create_app, load_documents
from orchestrator.sandbox.app import memories_of
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.served_operations import OperationKind


def test_folder_and_file_are_read_by_stem(shop: dict[str, Any], tmp_path: Path) -> None:
    """YAML and JSON are the same document; other files are passed over."""
    (tmp_path / "b.yaml").write_text(yaml.safe_dump(shop), encoding="utf-8")
    (tmp_path / "a.json").write_text(json.dumps(shop), encoding="utf-8")
    (tmp_path / "README.md").write_text("words", encoding="utf-8")
    (tmp_path / "x.schema.json").write_text('{"type": "object"}', encoding="utf-8")
    (tmp_path / "ours.yaml").write_text("overlay: 1.0.0", encoding="utf-8")

    found = load_documents([tmp_path])

    assert list(found) == ["a", "b"]
    assert found["a"] == found["b"]


def test_dates_stay_text(shop: dict[str, Any], tmp_path: Path) -> None:
    """YAML would make a date of an unquoted example; JSON has none."""
    file = tmp_path / "shop.yaml"
    text = yaml.safe_dump(shop).replace("title: Shop", "title: Shop\n  description: 2026-12-03")
    file.write_text(text, encoding="utf-8")

    assert load_documents([file])["shop"]["info"]["description"] == "2026-12-03"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("openapi: 3.1.0\ninfo: {title: x", "does not parse: line 2"),
        ("title: x", "has no openapi field"),
        ("openapi: 2.0.0", "not a version we know"),
    ],
)
def test_bad_file_is_refused_in_one_line(text: str, reason: str, tmp_path: Path) -> None:
    """The error names the file and what is wrong with it."""
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(DocumentError) as caught:
        load_documents([file])

    assert str(file) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_document_is_refused(tmp_path: Path) -> None:
    """An empty folder serves nothing, and says so."""
    with pytest.raises(DocumentError, match="no OpenAPI document"):
        load_documents([tmp_path])


def test_a_bad_file_of_a_folder_costs_itself_alone(shop: dict[str, Any], tmp_path: Path) -> None:
    """It is told; and refused where nothing else is there."""
    (tmp_path / "bad.yaml").write_text("openapi: 3.1.0\ninfo: {title: x", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"no OpenAPI document found.*does not parse: line 2"):
        load_documents([tmp_path])
    (tmp_path / "shop.json").write_text(json.dumps(shop), encoding="utf-8")

    with pytest.warns(UserWarning, match=r"does not parse: line 2.*left out until that is fixed"):
        found = load_documents([tmp_path])

    assert list(found) == ["shop"]


def test_two_files_of_one_name_are_refused(shop: dict[str, Any], tmp_path: Path) -> None:
    """A name stands for one document."""
    for name in ("shop.yaml", "shop.json"):
        (tmp_path / name).write_text(json.dumps(shop), encoding="utf-8")

    with pytest.raises(DocumentError, match="two documents are named 'shop'"):
        load_documents([tmp_path])


def test_a_document_without_paths_costs_itself_alone(shop: dict[str, Any]) -> None:
    """It is said not to be served; where no document has paths there is nothing to serve."""
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
    """What each operation of the shop does to the world."""
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
    """/orders/find is not the order named "find"."""
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
