"""The reference servers of the protocol, put in place by npm, of the versions in our lock."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from orchestrator.adapters.mcp.servers import McpServer

_PACKAGES: Final = Path(__file__).parent / "mcp_servers"
_FOLDER: Final = Path(__file__).parents[1] / "build" / "mcp-servers"


def installed() -> Path:
    """Return the folder of the servers; nothing of them is run before."""
    found = _FOLDER / "node_modules" / "@modelcontextprotocol"
    if not found.exists():
        assert shutil.which("npm"), "the servers need Node.js and npm: install both"
        _FOLDER.mkdir(parents=True, exist_ok=True)
        for file in _PACKAGES.glob("package*.json"):
            shutil.copy(file, _FOLDER)
        command = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        done = subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]
    return found


def command_of(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a server, such as `memory`."""
    return "node", str(installed() / f"server-{name}" / "dist" / "index.js"), *arguments


def reference_server(name: str, *arguments: str, **more: Any) -> McpServer:
    """Return a reference server over stdio."""
    return McpServer(name=name, command=command_of(name, *arguments), **more)
