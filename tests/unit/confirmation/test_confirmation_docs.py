"""What docs/confirmation.md shows is taken by the code that it describes."""

import ast
import re
from pathlib import Path
from typing import Any

import yaml

from orchestrator.catalog.card_types import CARD_TYPES, CardType
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.contract import document_keywords
from orchestrator.core import errors
from orchestrator.json_schema.document import DocumentNode
from orchestrator.settings import load_policy

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "confirmation.md").read_text(encoding="utf-8")
_YAML = re.findall(r"^```yaml\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_policy_that_it_shows_is_one(tmp_path: Path) -> None:
    """Every key of it is known, and says what the comment says."""
    (shown,) = [block for block in _YAML if "on_expiry" in block]
    path = tmp_path / "policy.yaml"
    path.write_text(shown, encoding="utf-8")
    policy = load_policy(path)

    assert policy is not None
    assert policy.confirmation.rounds == 3
    assert policy.confirmation.standing[0].approver == "policy:small-meals"
    assert len(policy.confirmation.approvers) == len(policy.confirmation.reminders) == 2


def test_a_document_declares_card_types(shop: dict[str, Any]) -> None:
    """A name alone, and a layout: a tool that names it is confirmed on a card with the layout."""
    (shown,) = [block for block in _YAML if "x-orchet-card-types" in block]
    shop |= yaml.safe_load(shown)
    shop["paths"]["/orders"]["post"]["x-orchet-requires-confirmation"] = "gift-wrap"
    tool = Catalog.from_documents({"shop": shop}).tool("shop_place_order")

    assert not list(document_keywords().breaches(DocumentNode.of("shop", shop)))
    assert len(shop["x-orchet-card-types"]) == 2
    assert tool.card_layout is not None
    assert (tool.card_type, tool.card_layout.title) == ("gift-wrap", "Gift wrapping")


def test_it_lists_the_parts_of_each_card_type() -> None:
    rows = "\n".join(_row(name, card_type) for name, card_type in CARD_TYPES.items())

    assert rows in TEXT, f"docs/confirmation.md needs these rows:\n{rows}"


def _row(name: str, card_type: CardType) -> str:
    parts = (f"{n} (whole)" if part.is_prose else n for n, part in card_type.parts.items())
    return f"| `{name}` | {', '.join(parts)} |"


def _below(kind: type) -> set[type]:
    found: set[type] = set(kind.__subclasses__())
    return found.union(*map(_below, found))


def test_the_refusals_that_it_names_are_those_that_are_raised() -> None:
    """Of decisions, answers and grants, by class or by code."""
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", TEXT.split("## Policies")[0]))
    families = (errors.ConfirmationError, errors.QuestionError)
    classes = {kind.__name__ for base in families for kind in _below(base)}
    codes = {
        str(code.value)
        for room in ("orchestrator", "workflows", "activities")
        for path in (ROOT / room).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] in {base.__name__ for base in families}
        for given in call.keywords
        if given.arg == "code"
        for code in ast.walk(given.value)
        if isinstance(code, ast.Constant) and str(code.value)[:1].isupper()
    }

    assert named - {base.__name__ for base in families} == classes | codes
