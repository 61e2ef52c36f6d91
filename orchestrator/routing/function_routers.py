"""Routers for requests that bring their own functions, as a proxy sees them."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router

_MOST_ROUTERS: Final = 256


class FunctionRouters:
    """Makes a router for the functions of a request; the same functions again have the same one.

    Safe to share between threads; two that bring new functions at once may each make a router.

    ```python
    cards = CardCache()
    routers = FunctionRouters(lambda catalog: Router(catalog, cards=cards))
    routers.of(request["tools"]).route(request["messages"][-1]["content"])
    ```
    """

    def __init__(
        self, make: Callable[[Catalog], Router], *, most_routers: int = _MOST_ROUTERS
    ) -> None:
        """Take what makes a router, and keep the ones asked for last, so many at most."""
        self._make = make
        self._most_routers = most_routers
        self._routers: OrderedDict[bytes, Router] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._routers)

    def of(self, functions: Sequence[Mapping[str, Any]]) -> Router:
        """The router over these functions: JSON, in any form that `Catalog.from_functions` takes.

        Raises:
            DocumentInvalid: one has no name or no schema, or two have one name.
        """
        written = json.dumps(functions)
        key = hashlib.sha256(written.encode()).digest()
        with self._lock:
            router = self._routers.get(key)
        if router is None:
            # Of a copy: whoever brought the functions may change them.
            router = self._make(Catalog.from_functions(json.loads(written)))
        with self._lock:
            self._routers[key] = router
            self._routers.move_to_end(key)
            while len(self._routers) > self._most_routers:
                self._routers.popitem(last=False)
        return router
