"""The stylesheet and scripts of the pages, with ETags."""

from pathlib import Path
from typing import Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_FOLDER: Final = Path(__file__).parent / "static"
_KEPT_S: Final = 300
"""Seconds for which browsers use a file without asking; then its ETag is compared."""


class Assets(StaticFiles):
    """Files that browsers keep for a while and then compare by ETag."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file with headers for caches."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = f"public, max-age={_KEPT_S}, must-revalidate"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def routes() -> list[BaseRoute]:
    """Return the route of the files."""
    return [Mount("/static", Assets(directory=_FOLDER), name="static")]
