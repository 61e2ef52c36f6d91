"""Lines of JSON pointers in the text that a document was read from."""

import pytest

from orchestrator.catalog.source import SourceLine, find_lines

YAML = """\
openapi: 3.1.0   # line 1
paths:
  /a/b:
    get:
      tags:
        - one
        - two
"""


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("", 1),
        ("/paths", 2),
        ("/paths/~1a~1b", 3),
        ("/paths/~1a~1b/get/tags", 5),
        ("/paths/~1a~1b/get/tags/1", 7),
    ],
)
def test_a_pointer_leads_to_its_line(pointer: str, line: int) -> None:
    """The line of a key, or of an element of a list."""
    assert find_lines(YAML, [pointer]) == {pointer: line}


def test_what_is_not_in_the_text_gets_the_line_around_it() -> None:
    """An overlay added it, or it was taken in from another file."""
    found = find_lines(YAML, ["/paths/~1a~1b/get/x-orchet-tool", "/paths/~1a~1b/get/tags/9"])

    assert list(found.values()) == [4, 5]


def test_json_has_lines_too() -> None:
    """Indented by tabs or by nothing."""
    assert find_lines('{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}', ["/a/1"]) == {"/a/1": 4}


@pytest.mark.parametrize("text", ["", "a: [", "[" * 5000, '{"a": 1'])
def test_a_text_that_cannot_be_read_has_no_lines(text: str) -> None:
    """Broken, cut off, or nested without end."""
    assert find_lines(text, ["/a"]) == {}


def test_a_place_reads_as_editors_write_it() -> None:
    """`file:line`, or the file alone."""
    assert [str(SourceLine("a.yaml", 7)), str(SourceLine("a.yaml"))] == ["a.yaml:7", "a.yaml"]
