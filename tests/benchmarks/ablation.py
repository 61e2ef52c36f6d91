"""What each feature and word list adds on data that it was not made for: the ablation table.

    python -m tests.benchmarks.ablation FOLDER FOLDER ... [--only NAME,NAME] [--keep FILE]

One thing at a time is left out and the other weights are fitted anew, to the training halves of all
folders but one; the figures are those of the one, and their mean over all. Without and with the
built-in embedder; the evaluation halves are not read. `--keep` keeps what was read of the folders
in a file, so that another run takes seconds; delete it when the router has changed.
"""

import argparse
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final
from unittest.mock import patch

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.profile import RoutingProfile
from tests.benchmarks.fit_routing import (
    FITTED,
    Case,
    left_out,
    read_cases,
    weights_now,
)

_NAMES: Final = ("R@1", "R@3", "R@5", "nDCG@5")
_ALL: Final = "nothing"


@contextmanager
def _without_synonyms() -> Iterator[None]:
    with patch("orchestrator.routing.scoring.word_evidence.synonyms_of", return_value=()):
        yield


_READ_ANEW: Final[Mapping[str, Callable[[], AbstractContextManager[object]]]] = {
    "synonyms": _without_synonyms,
}
"""Word lists: without them the requests are read anew."""


def main() -> None:
    """Read, leave out, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.ablation")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--only", default="", help="comma-separated; `+` joins several to one")
    parser.add_argument("--keep", type=Path, help="a file for what was read")
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    read = _Reader(arguments.folders, arguments.keep)
    for vectors in (False, True):
        sys.stdout.write(f"\n| left out, {'with' if vectors else 'without'} the embedder |")
        sys.stdout.write("".join(f" {name} |" for name in _NAMES) + "\n|---|---|---|---|---|\n")
        every = [_ALL, *FITTED, *_READ_ANEW, "related"]
        for name in [_ALL, *only] if only else every:
            if name != "embedding" or vectors:
                _print(name, figures_without(read, name, vectors=vectors))


def figures_without(read: "_Reader", name: str, *, vectors: bool) -> Floats:
    """The mean over the folders, each judged by weights fitted to the others."""
    dropped = {*name.split("+")} | (set() if vectors else {"embedding"})
    start = weights_now([feature for feature in FITTED if feature not in dropped])
    how = next((list_ for list_ in (*_READ_ANEW, "related") if list_ in dropped), "")
    by_folder = left_out(read.cases(how, vectors=vectors), start)
    mean: Floats = np.mean([*by_folder.values()], axis=0)
    return mean


class _Reader:
    """What the router finds for each folder's requests, read once."""

    def __init__(self, folders: Sequence[str], kept: Path | None) -> None:
        self._folders = folders
        self._kept = kept
        self._found: dict[tuple[str, bool], dict[str, list[Case]]] = {}
        if kept is not None and kept.exists():
            self._found = pickle.loads(kept.read_bytes())

    def cases(self, how: str, *, vectors: bool) -> dict[str, list[Case]]:
        """The cases of all folders, read without a word list."""
        if (how, vectors) not in self._found:
            profile = RoutingProfile(related=0) if how == "related" else None
            with _READ_ANEW.get(how, nullcontext)():
                self._found[how, vectors] = {
                    Path(folder).name: read_cases(folder, vectors=vectors, profile=profile)
                    for folder in self._folders
                }
            if self._kept is not None:
                self._kept.write_bytes(pickle.dumps(self._found))
        return self._found[how, vectors]


def _print(name: str, values: Floats) -> None:
    cells = " | ".join(f"{value:.4f}" for value in values)
    sys.stdout.write(f"| `{name}` | {cells} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
