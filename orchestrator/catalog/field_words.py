"""The words of a field's name, however a provider writes names."""

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """`departureDate`, `departure-date` and `departure_date` as (departure, date)."""
    return tuple(word.lower() for word in _WORD.findall(name)) or (name.lower(),)
