"""Cards made before, by the digest of their tool: what did not change is not made again."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence

from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card, make_cards

_MOST_CARDS = 65_536
_Key = tuple[str, bool, bool]


class CardCache:
    """The cards of the catalogs that routers were last made for; safe to share between threads."""

    def __init__(self, most_cards: int = _MOST_CARDS) -> None:
        """Keep at most so many cards."""
        self._most_cards = most_cards
        self._cards: OrderedDict[_Key, CapabilityCard] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._cards)

    def of(self, tools: Sequence[Tool]) -> tuple[CapabilityCard, ...]:
        """The cards of a catalog's tools, in their order; only those of unknown tools are made."""
        return make_cards(tools, self._card)

    def _card(self, tool: Tool, *, is_probe: bool, shows_own: bool) -> CapabilityCard:
        key = (tool_digest(tool), is_probe, shows_own)
        with self._lock:
            card = self._cards.get(key)
        if card is None:
            card = make_card(tool, is_probe=is_probe, shows_own=shows_own)
        with self._lock:
            self._cards[key] = card
            self._cards.move_to_end(key)
            while len(self._cards) > self._most_cards:
                self._cards.popitem(last=False)
        return card


def tool_digest(tool: Tool) -> str:
    """Hex SHA-256 of all that a tool says."""
    return hashlib.sha256(json.dumps(tool.as_json()).encode()).hexdigest()
