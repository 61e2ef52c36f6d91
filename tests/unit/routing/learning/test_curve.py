"""Size against coverage."""

import json
from itertools import pairwise
from pathlib import Path

from orchestrator.routing.learning.curve import GAINS, width_curve


def test_the_less_a_tool_must_be_worth_the_more_are_forwarded(tmp_path: Path) -> None:
    """And the more requests are covered."""
    things = ("invoice", "flight", "hotel", "weather", "table", "file", "message", "car")
    tools = [{"name": f"find_{thing}", "description": f"Find a {thing}."} for thing in things]
    queries = [
        {"query": f"the {a} or perhaps {b}", "gold": [f"find_{a}"], "split": "eval"}
        for a, b in pairwise(things)
    ]
    for name, rows in (("tools", tools), ("queries", queries)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines)

    points = width_curve(tmp_path)

    sizes = [point.mean_forwarded for point in points]
    shares = [point.forwarded_coverage for point in points]
    assert [point.gain for point in points] == list(GAINS)
    assert sizes == sorted(sizes)
    assert shares == sorted(shares)
