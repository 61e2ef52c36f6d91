"""Files of a public repository at a named commit: from a mirror, or by git over the network."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DEPTH = 3


class SourceMissing(Exception):
    """A repository or a file of it cannot be had; the sentence says which, and what to do."""


@dataclass(frozen=True)
class Origin:
    """Where the data of a set comes from."""

    url: str
    commit: str
    licence: str


@dataclass(frozen=True)
class Repository:
    """A git directory that holds the commit; nothing is ever checked out."""

    folder: Path
    commit: str

    def text(self, path: str) -> str:
        """A file's content.

        Raises:
            SourceMissing: the commit has no such file, or the mirror lacks it.
        """
        done = _git(self.folder, "cat-file", "blob", f"{self.commit}:{path}")
        if done.returncode:
            raise SourceMissing(
                f"{path} at {self.commit[:12]} cannot be read from {self.folder}: "
                "make the set without --mirrors, or mirror the repository whole"
            )
        return done.stdout.decode("utf-8")

    def json(self, path: str) -> Any:
        """A file of one JSON document."""
        return json.loads(self.text(path))

    def json_lines(self, path: str) -> list[Any]:
        """A file of one JSON document a line."""
        return [json.loads(line) for line in self.text(path).splitlines() if line.strip()]


def from_mirrors(origin: Origin, mirrors: Path) -> Repository:
    """The git directory below a folder, of whatever name, that holds the commit.

    Raises:
        SourceMissing: none does.
    """
    for folder in _git_directories(mirrors, _DEPTH):
        if not _git(folder, "cat-file", "-e", f"{origin.commit}^{{commit}}").returncode:
            return Repository(folder, origin.commit)
    raise SourceMissing(
        f"no git directory in {mirrors} holds commit {origin.commit}: "
        f"git clone --mirror {origin.url} into it, or leave --mirrors out"
    )


def over_network(origin: Origin, cache: Path) -> Repository:
    """A clone in a folder of the cache; files come when they are read.

    Raises:
        SourceMissing: git cannot reach it.
    """
    folder = cache / "+".join(origin.url.rstrip("/").split("/")[-2:])
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        options = ("--bare", "--quiet", "--filter=blob:none")
        done = _git(cache, "clone", *options, origin.url, str(folder.resolve()))
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise SourceMissing(f"{origin.url} cannot be cloned ({said}); see --mirrors")
    return Repository(folder, origin.commit)


def _git(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    command: Sequence[str] = ("git", "-C", str(folder), *arguments)
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(command, capture_output=True, check=False, env=quiet)


def _git_directories(folder: Path, depth: int) -> Iterator[Path]:
    """Those at most so many levels below, in order of their names."""
    if (folder / ".git").exists() or (folder / "objects").is_dir():
        yield folder
    elif depth and folder.is_dir():
        for child in sorted(folder.iterdir()):
            yield from _git_directories(child, depth - 1)
