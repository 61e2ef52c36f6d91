"""docs/lint.md has the table of the code, and each code has an example that gives it."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.lint import CODES, Finding, lint
from orchestrator.catalog.lint.code_table import EXPLANATIONS, code_table
from orchestrator.catalog.overlay import apply_overlays, parse_overlay
from orchestrator.catalog.yaml12 import load_yaml

_PAGE = Path(__file__).parents[3] / "docs/lint.md"
_EXAMPLES: Any = load_yaml((Path(__file__).parent / "lint_examples.yaml").read_text("utf-8"))
_CODES = [code.code for code in CODES]
_SEVERITIES = {code.code: code.severity for code in CODES}


def _patched(value: Any, patch: Any) -> Any:
    """Apply an RFC 7396 merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = _patched(result.get(key), change)
    return result


def _findings(example: Any) -> list[Finding]:
    """Return the findings in the document with an overlay or a patch applied."""
    document = _EXAMPLES["document"]
    if "overlay" in example:
        overlaid = apply_overlays({"shop": document}, [parse_overlay("ours.yaml", example)])
        return lint(overlaid.documents, idle=overlaid.idle)
    return [f for f in lint({"shop": _patched(document, example)}) if f.suppressed is None]


def test_the_page_has_the_generated_table() -> None:
    """The table of docs/lint.md is the one that `code_table` returns."""
    assert code_table() in _PAGE.read_text("utf-8"), f"docs/lint.md needs:\n{code_table()}"


def test_every_code_is_explained_and_has_an_example() -> None:
    """Explanations and examples cover the codes of the linter, in their order."""
    assert list(EXPLANATIONS) == list(_EXAMPLES["examples"]) == _CODES


def test_the_unpatched_document_has_no_finding() -> None:
    """The findings of an example are caused by its patch alone."""
    assert _findings({}) == []


@pytest.mark.parametrize("code", _CODES)
def test_the_bad_example_gives_exactly_its_code(code: str) -> None:
    """The bad example has findings of its code and severity, and no others."""
    found = _findings(_EXAMPLES["examples"][code]["bad"])

    assert {(f.code, f.severity) for f in found} == {(code, _SEVERITIES[code])}


@pytest.mark.parametrize("code", _CODES)
def test_the_good_example_has_no_finding(code: str) -> None:
    """The good example fixes the bad one and breaks nothing else."""
    assert _findings(_EXAMPLES["examples"][code]["good"]) == []
