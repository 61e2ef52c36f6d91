"""The structure of the code, counted: rooms, arrows, names and lengths. Run by `make structure`.

A room is a package or module directly below `orchestrator/`, or `workflows/` or `activities/`. An
arrow runs from one room to another where some file of the first imports some file of the second.
Which of two rooms is the upper one is said in one place, the layers in pyproject.toml.
"""

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    """Imports of one room by another, in so many files."""

    source: str
    target: str
    files: int


@dataclass(frozen=True)
class Structure:
    """The counts; lengths are in lines."""

    rooms: Mapping[str, int]
    arrows: list[Arrow]
    upward: list[Arrow]
    duplicate_files: dict[str, list[str]]
    functions: int
    function_median: float
    function_p90: float
    function_longest: tuple[str, int]
    modules: int
    module_median: float
    module_longest: tuple[str, int]
    lines: int


def measure(root: Path = ROOT) -> Structure:
    """Measure the three packages below a folder."""
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
    return Structure(
        rooms=_room_sizes(lengths),
        arrows=arrows,
        upward=[arrow for arrow in arrows if heights[arrow.source] <= heights[arrow.target]],
        duplicate_files=_repeated(
            (path.name, str(path)) for path in files if path.name not in CONVENTIONAL
        ),
        functions=len(functions),
        function_median=median(spans),
        function_p90=quantiles(spans, n=10)[-1],
        function_longest=max(functions, key=lambda found: found[1]),
        modules=len(files),
        module_median=median(lengths.values()),
        module_longest=max(
            ((str(path), length) for path, length in lengths.items()), key=lambda found: found[1]
        ),
        lines=sum(lengths.values()),
    )


def room_of(module: str) -> str:
    """Return the room of a dotted module name; the package itself is not a room.

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
    """Return the arrows of all imports, including those inside functions and for types."""
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
    """Return the height of each room: 0 for the lowest layer of the import contract."""
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
    yield f"duplicate file names: {len(found.duplicate_files)}"
    yield from (f"  {name}: {', '.join(at)}" for name, at in found.duplicate_files.items())
    yield (
        f"functions: {found.functions}, median {found.function_median:g} lines, "
        f"p90 {found.function_p90:g}, longest {found.function_longest[1]} "
        f"({found.function_longest[0]})"
    )
    yield (
        f"modules: {found.modules}, median {found.module_median:g} lines, "
        f"longest {found.module_longest[1]} ({found.module_longest[0]})"
    )
    yield f"lines: {found.lines}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _text(measure()))
