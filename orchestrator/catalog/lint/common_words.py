"""Words that are known to most: those that a vocabulary learned from text at large has as one."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_PACKAGE: Final = "wordllama"
"""Its word pieces are those of the built-in embedder; the package itself is never imported."""
_PIECES: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_BEGINS_A_WORD: Final = "\u2581"


def is_common(word: str) -> bool:
    """Whether a word, written like this, is frequent enough to be a piece of the vocabulary."""
    return _BEGINS_A_WORD + word in _pieces()


@cache
def _pieces() -> frozenset[str]:
    """32,000 pieces of words; none where the package is not installed whole."""
    spec = find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
    if folder is None or not (folder / _PIECES).is_file():
        return frozenset()
    return frozenset(json.loads((folder / _PIECES).read_text(encoding="utf-8"))["model"]["vocab"])
