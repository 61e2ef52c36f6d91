"""A cache of values derived from immutable objects, keyed by identity.

Tools and compiled schemas cannot be dictionary keys, and comparing them costs more than deriving
most values from them. Each step of each leg derives the same values from the same tools.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Final, Generic, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_K = TypeVar("_K", bound=Hashable)
_KEPT: Final = 1 << 11


def read_once(function: Callable[[_T], _R], *, most: int = _KEPT) -> Callable[[_T], _R]:
    """Return the function with a cache of its last results, keyed by the argument's identity.

    Use it for pure functions of objects that nobody changes. Results are shared, so nobody may
    change them either. The cache holds up to `most` objects, each as long as its result, so that no
    other object takes its identity.
    """
    kept: OrderedDict[int, tuple[_T, _R]] = OrderedDict()

    @wraps(function)
    def reading(given: _T) -> _R:
        held = kept.get(id(given))
        if held is None:
            held = kept[id(given)] = given, function(given)
            if len(kept) > most:
                kept.popitem(last=False)
        return held[1]

    return reading


class Recent(Generic[_K, _R]):
    """A thread-safe cache of the most recently used values."""

    def __init__(self, most: int = _KEPT) -> None:
        """Take the maximum number of values."""
        self._most = most
        self._values: OrderedDict[_K, _R] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _K) -> _R | None:
        """Return the value of a key; None if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: _K, value: _R) -> _R:
        """Store a value, and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
