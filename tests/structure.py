"""The structure of the code, counted: rooms, arrows, names and lengths. Run by `make structure`.

A room is a package or module directly below `orchestrator/`, or `workflows/` or `activities/`. An
arrow runs from one room to another where some file of the first imports some file of the second.
Which of two rooms is the upper one is said in one place, the layers in pyproject.toml.
"""

import ast
import json
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

ROOT: Final = Path(__file__).parent.parent
TOPS: Final = ("orchestrator", "workflows", "activities")
CONVENTIONAL: Final = frozenset({"__init__.py", "__main__.py", "models.py"})
"""File names that every package may have; any other name stands once."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Arrow:
    """One room imports another, in so many files."""

    source: str
    target: str
    files: int


@dataclass(frozen=True)
class Structure:
    """What was counted; lengths are in lines."""

    rooms: Mapping[str, int]
    arrows: list[Arrow]
    upward: list[Arrow]
    duplicate_files: dict[str, list[str]]
    duplicate_types: dict[str, list[str]]
    functions: int
    function_median: float
    function_p90: float
    function_longest: tuple[str, int]
    documented_share: float
    modules: int
    module_median: float
    module_longest: tuple[str, int]
    lines: int


def measure(root: Path = ROOT) -> Structure:
    """The structure of the three packages below a folder."""
    files = {
        path.relative_to(root): path.read_text(encoding="utf-8")
        for top in TOPS
        for path in sorted((root / top).rglob("*.py"))
    }
    trees = {path: ast.parse(text) for path, text in files.items()}
    lengths = {path: text.count("\n") for path, text in files.items()}
    arrows = _arrows(trees)
    heights = floors(root)
    functions = [
        (f"{path}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for path, tree in trees.items()
        for node in _functions(tree)
    ]
    spans = [span for _, span in functions]
    public = [node for tree in trees.values() for node in _public_functions(tree)]
    return Structure(
        rooms=_room_sizes(lengths),
        arrows=arrows,
        upward=[arrow for arrow in arrows if heights[arrow.source] <= heights[arrow.target]],
        duplicate_files=_repeated(
            (path.name, str(path)) for path in files if path.name not in CONVENTIONAL
        ),
        duplicate_types=_repeated(
            (node.name, str(path))
            for path, tree in trees.items()
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        ),
        functions=len(functions),
        function_median=median(spans),
        function_p90=quantiles(spans, n=10)[-1],
        function_longest=max(functions, key=lambda found: found[1]),
        documented_share=sum(1 for node in public if ast.get_docstring(node)) / len(public),
        modules=len(files),
        module_median=median(lengths.values()),
        module_longest=max(
            ((str(path), length) for path, length in lengths.items()), key=lambda found: found[1]
        ),
        lines=sum(lengths.values()),
    )


def room_of(module: str) -> str:
    """The room that a dotted module name belongs to; the package's own face is no room.

    Examples:
        orchestrator.catalog.lint.linter -> catalog
        workflows.calls -> workflows
    """
    parts = module.split(".")
    if parts[0] != "orchestrator":
        return parts[0]
    return parts[1] if len(parts) > 1 else ""


def _room_sizes(lengths: Mapping[Path, int]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for path, length in lengths.items():
        sizes[room_of(_module(path))] += length
    return {room: size for room, size in sorted(sizes.items()) if _is_room(room)}


def _is_room(name: str) -> bool:
    return bool(name) and not name.startswith("__")


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _arrows(trees: Mapping[Path, ast.Module]) -> list[Arrow]:
    """All imports count, those for type checkers and those inside functions too."""
    users: defaultdict[tuple[str, str], set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        source = room_of(_module(path))
        for target in {room_of(module) for module in _imported(tree)}:
            if source != target and _is_room(source) and _is_room(target):
                users[source, target].add(path)
    return [Arrow(*ends, files=len(paths)) for ends, paths in sorted(users.items())]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (a.name for a in names if a.name.split(".")[0] in TOPS)
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] in TOPS:
                # `from orchestrator import settings` names the room after the import.
                yield from (f"{module}.{a.name}" if module in TOPS else module for a in names)


def floors(root: Path) -> dict[str, int]:
    """How high each room stands: 0 for the lowest layer of the import contract."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["id"] == "arrows-point-inward")
    return {
        room_of(name.strip()): height
        for height, layer in enumerate(reversed(layers))
        for name in layer.replace("|", ":").split(":")
    }


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _public_functions(tree: ast.Module) -> Iterator[Function]:
    """Functions and methods that can be reached by names without a leading underscore."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (f for f in node.body if isinstance(f, Function) and f.name[0] != "_")
        elif isinstance(node, Function) and node.name[0] != "_":
            yield node


def _repeated(named: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def _text(found: Structure) -> Iterator[str]:
    yield f"rooms: {len(found.rooms)}"
    yield from (f"  {room:<14}{size:>6} lines" for room, size in found.rooms.items())
    yield f"arrows: {len(found.arrows)}"
    targets: defaultdict[str, list[str]] = defaultdict(list)
    for arrow in found.arrows:
        targets[arrow.source].append(arrow.target)
    yield from (f"  {room} -> {', '.join(ends)}" for room, ends in targets.items())
    yield f"upward arrows: {len(found.upward)}"
    yield from (f"  {a.source} -> {a.target} ({a.files} files)" for a in found.upward)
    for title, repeated in (
        ("duplicate file names", found.duplicate_files),
        ("duplicate type names", found.duplicate_types),
    ):
        yield f"{title}: {len(repeated)}"
        yield from (f"  {name}: {', '.join(places)}" for name, places in repeated.items())
    yield (
        f"functions: {found.functions}, median {found.function_median:g} lines, "
        f"p90 {found.function_p90:g}, longest {found.function_longest[1]} "
        f"({found.function_longest[0]}); {found.documented_share:.0%} of public ones documented"
    )
    yield (
        f"modules: {found.modules}, median {found.module_median:g} lines, "
        f"longest {found.module_longest[1]} ({found.module_longest[0]})"
    )
    yield f"lines: {found.lines}"


def main() -> None:
    """Print the structure; with --json as one document."""
    found = measure()
    if "--json" in sys.argv[1:]:
        sys.stdout.write(json.dumps(asdict(found), indent=2) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _text(found))


if __name__ == "__main__":
    main()
