"""Which sets there are: where each comes from, what makes it, and what must come out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks.datasets import (
    bfcl,
    metatool,
    nestful,
    restbench,
    sealtools,
    taubench,
    toolalpaca,
)
from tests.benchmarks.datasets.form import DataSet
from tests.benchmarks.datasets.repository import Origin, Repository

DIGESTS: Final = Path(__file__).parent / "digests.json"
"""Hex SHA-256 of every file of every set; `--pin` writes it."""

_LEADERBOARD: Final = Origin(
    "https://github.com/ShishirPatil/gorilla",
    "6ea57973c7a6097fd7c5915698c54c17c5b1b6c8",
    "Apache-2.0",
)


@dataclass(frozen=True)
class Recipe:
    """How a set is made; `held_out`: figures only, nothing may ever be fitted to it."""

    origin: Origin
    make: Callable[[Repository], DataSet]
    held_out: bool = False


_RESTBENCH: Final = Origin(
    "https://github.com/Yifan-Song793/RestGPT",
    "d99012860cb45323975bf5780152d7aa44f390f5",
    "MIT",
)

RECIPES: Final[Mapping[str, Recipe]] = {
    "restbench_tmdb": Recipe(
        _RESTBENCH,
        restbench.make_tmdb,
    ),
    "toolalpaca": Recipe(
        Origin(
            "https://github.com/tangqiaoyu/ToolAlpaca",
            "189069998d64a7baf1b4a1c3c4b2e75eb9d05532",
            "Apache-2.0",
        ),
        toolalpaca.make_toolalpaca,
    ),
    "metatool": Recipe(
        Origin(
            "https://github.com/HowieHwong/MetaTool",
            "35e81bb7576826e980c80fed8f8c0a2b4a1e6fbb",
            "MIT",
        ),
        metatool.make_metatool,
    ),
    "bfcl_v1": Recipe(_LEADERBOARD, bfcl.make_v1),
    "bfcl_multiturn": Recipe(_LEADERBOARD, bfcl.make_multi_turn),
    "nestful": Recipe(
        Origin(
            "https://github.com/IBM/NESTFUL",
            "053cbde0446dddd31e8293f179085e1b39ab79b5",
            "Apache-2.0",
        ),
        nestful.make_nestful,
    ),
    "sealtools": Recipe(
        Origin(
            "https://github.com/fairyshine/Seal-Tools",
            "ce753ecd60ed08dd376984035de531ab8421f1c6",
            "Apache-2.0",
        ),
        sealtools.make_sealtools,
    ),
    "restbench_spotify": Recipe(_RESTBENCH, restbench.make_spotify, held_out=True),
    "bfcl_live": Recipe(_LEADERBOARD, bfcl.make_live, held_out=True),
    "tau_bench": Recipe(
        Origin(
            "https://github.com/sierra-research/tau-bench",
            "59a200c6d575d595120f1cb70fea53cef0632f6b",
            "MIT",
        ),
        taubench.make_tau_bench,
        held_out=True,
    ),
}


def pinned() -> dict[str, dict[str, str]]:
    """The digests that are written down, by set and file."""
    if not DIGESTS.exists():
        return {}
    found: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found
