"""The word lists of `data/en`: files for people to edit, each read once by its own module."""

from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).with_name("data") / "en"
# Reads every scalar as text: "on" and "no" are words here.
_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class WordLists:
    """The lists of one file by key; a list is words or lines in one text."""

    def __init__(self, name: str) -> None:
        """Read `data/en/<name>.yaml`."""
        text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        self._lists: dict[str, Any] = yaml.load(text, Loader=_LOADER)

    def words(self, key: str) -> tuple[str, ...]:
        """Return the words of a list, in order."""
        return tuple(self._lists[key].split())

    def word_set(self, key: str) -> frozenset[str]:
        """Return the distinct words of a list."""
        return frozenset(self.words(key))

    def lines(self, key: str) -> list[str]:
        """Return the lines of a list, in order."""
        return str(self._lists[key]).splitlines()

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return the first and the second word of each line."""
        return tuple((first, second) for first, second in map(str.split, self.lines(key)))

    def table(self, key: str) -> dict[str, str]:
        """Return the meaning of each word or phrase."""
        return dict(self._lists[key])
