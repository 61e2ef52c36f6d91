"""How often requests for several tools have all of them forwarded.

Examples of the bundled documents are drawn by a seed and joined in the ways that people join
requests: most begin with no verb that tells where a request starts.
"""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router
from orchestrator.settings import bundled_specs
from tests.benchmarks.figure import Figure

JOINTS: Final = (" and ", " and then ", ", ", ". ", "; ", " as well as ")
_SEED: Final = 13
_COUNT: Final = 200


class Joined(NamedTuple):
    """A request made of examples, and the tools that they are examples of."""

    text: str
    tools: frozenset[str]


def run() -> list[Figure]:
    """Pairs by how they are joined, and triples."""
    catalog = Catalog.load(bundled_specs())
    router = Router(catalog)
    shapes = [(2, "pairs", joint) for joint in JOINTS] + [(3, "triples", " and ")]
    return [
        Figure(
            name=f"all tools forwarded, {name} joined by {joint.strip() or joint!r}",
            value=share_forwarded(router, joined(catalog, joint, size=size)),
            unit="share",
        )
        for size, name, joint in shapes
    ]


def joined(
    catalog: Catalog, joint: str, *, size: int = 2, count: int = _COUNT, seed: int = _SEED
) -> list[Joined]:
    """Requests for `size` different tools, the same ones for the same seed."""
    draw = random.Random(seed)
    examples = [(t.name, text) for t in catalog.tools.values() for text in t.examples]
    found: list[Joined] = []
    while len(found) < count:
        drawn = draw.sample(examples, size)
        tools = frozenset(name for name, _ in drawn)
        if len(tools) == size:
            found.append(Joined(joint.join(text.rstrip(".") for _, text in drawn), tools))
    return found


def share_forwarded(router: Router, requests: Sequence[Joined]) -> float:
    """The share of requests with all of their tools forwarded."""
    covered = sum(request.tools <= {*router.route(request.text).tools} for request in requests)
    return covered / len(requests)
