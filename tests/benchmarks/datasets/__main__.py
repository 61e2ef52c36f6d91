"""`python -m tests.benchmarks.datasets OUT [--mirrors FOLDER]`: make the public sets anew.

Every set is read from its repository at a named commit (`manifest.py` says which, and under what
licence): over the network by git, or from git directories in a folder, of whatever names. What was
made must have the digests in `digests.json`. Half of the requests of a set are `train`, the others
`eval`, by a hash of the id; sets called held out are for figures alone.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.datasets import manifest
from tests.benchmarks.datasets.manifest import RECIPES, Recipe
from tests.benchmarks.datasets.repository import SourceMissing, from_mirrors, over_network


def main(arguments: Sequence[str], recipes: Mapping[str, Recipe] = RECIPES) -> int:
    """Make what was asked for; 1 if a set could not be made, or came out otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.datasets")
    parser.add_argument("out", type=Path, help="folder for the sets, one folder each")
    parser.add_argument("names", nargs="*", metavar="SET", help=f"of {', '.join(recipes)}")
    parser.add_argument("--mirrors", type=Path, help="folder with git directories, for no network")
    parser.add_argument("--pin", action="store_true", help="write the digests down as right")
    options = parser.parse_intermixed_args(arguments)
    if unknown := set(options.names) - set(recipes):
        parser.error(f"no set is called {', '.join(sorted(unknown))}")
    digests = manifest.pinned()
    wrong = 0
    for name in options.names or recipes:
        try:
            made = make(recipes[name], options.out / name, options.mirrors)
        except SourceMissing as missing:
            sys.stderr.write(f"{name}: {missing}\n")
            wrong += 1
            continue
        known = made if options.pin else digests.get(name)
        digests[name] = made
        wrong += known != made
        sys.stdout.write(f"{name}: {_verdict(made, known)}\n")
    if options.pin:
        text = json.dumps(digests, indent=2, sort_keys=True) + "\n"
        manifest.DIGESTS.write_text(text, encoding="utf-8")
    return bool(wrong)


def make(recipe: Recipe, folder: Path, mirrors: Path | None) -> dict[str, str]:
    """Make one set in a folder; the digests of its files.

    Raises:
        SourceMissing: its repository, or a file of it, cannot be had.
    """
    if mirrors is None:
        source = over_network(recipe.origin, folder.parent / ".clones")
    else:
        source = from_mirrors(recipe.origin, mirrors)
    made = recipe.make(source)
    if recipe.held_out:
        made = made.held_out()
    made.write(folder)
    return made.digests()


def _verdict(made: Mapping[str, str], known: Mapping[str, str] | None) -> str:
    if known is None:
        return "made; no digest is written down"
    if known == made:
        return "made, as written down"
    files = ", ".join(name for name in made if made[name] != known.get(name))
    return f"made, but {files} came out otherwise than what is written down"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
