"""docs/lint.md: every code is explained, and every example is what it says it is."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orchestrator.catalog.lint import CODES, Code, Finding, lint
from orchestrator.catalog.overlay import apply_overlays, parse_overlay
from orchestrator.catalog.yaml12 import load_yaml

TEXT = (Path(__file__).parents[3] / "docs/lint.md").read_text(encoding="utf-8")
HEADING = re.compile(r"^## (ORC\d{3}): (.+) \((error|warning|note)\)$", flags=re.MULTILINE)
YAML = re.compile(r"^```yaml\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    """What the document says of one code."""

    code: str
    title: str
    severity: str
    text: str
    bad: Any
    good: Any


def read_sections() -> list[Section]:
    """Each heading with the examples under it: first what is bad, then what is good."""
    sections = []
    pieces = HEADING.split(TEXT)
    for code, title, severity, text in zip(*(iter(pieces[1:]),) * 4, strict=True):
        bad, good = YAML.findall(text)
        assert bad.startswith("# bad\n"), code
        assert good.startswith("# good\n"), code
        sections.append(Section(code, title, severity, text, load_yaml(bad), load_yaml(good)))
    return sections


SECTIONS = read_sections()


def document() -> Any:
    """The document that the examples change."""
    return load_yaml(YAML.findall(HEADING.split(TEXT)[0])[0])


def patched(value: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), change)
    return result


def findings(example: Any) -> list[Finding]:
    """What is to be mended in the document with an example applied: an overlay, or a patch."""
    if "overlay" in example:
        overlaid = apply_overlays({"shop": document()}, [parse_overlay("ours.yaml", example)])
        return lint(overlaid.documents, idle=overlaid.idle)
    return [f for f in lint({"shop": patched(document(), example)}) if f.suppressed is None]


def test_there_is_nothing_to_mend_in_the_document_itself() -> None:
    """What an example causes is its own doing."""
    assert lint({"shop": document()}) == []


def test_every_code_has_its_section_in_order() -> None:
    """Code, title and severity as the linter has them."""
    assert [Code(s.code, s.severity, s.title) for s in SECTIONS] == [  # type: ignore[arg-type]  # by the pattern
        Code(code.code, code.severity, code.title) for code in CODES
    ]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_the_bad_example_gives_exactly_its_code(section: Section) -> None:
    """With its severity, and no other finding that would distract."""
    found = findings(section.bad)

    assert {(f.code, f.severity) for f in found} == {(section.code, section.severity)}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_the_good_example_gives_nothing(section: Section) -> None:
    """It mends the bad one without breaking anything else."""
    assert findings(section.good) == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_each_section_says_what_it_means_and_why(section: Section) -> None:
    """A rule without a reason is a rule that gets switched off."""
    meaning, why, _ = section.text.partition("*Why:*")

    assert len(meaning.split()) > 3
    assert why
