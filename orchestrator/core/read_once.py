"""What is read of an object that never changes is read once, and kept by the object itself.

Tools and compiled schemas cannot be keys of a dictionary, and comparing them costs more than most
of what is read of them. Each step of each leg asks the same of the same tools.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_KEPT: Final = 1 << 11


def read_once(function: Callable[[_T], _R], *, most: int = _KEPT) -> Callable[[_T], _R]:
    """The same function, its last answers kept by the identity of what it is given.

    For pure functions of objects that nobody changes. Their answers are shared, so nobody may
    change those either. The object is held as long as its answer, so that none has its identity;
    of `most` at a time.
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
