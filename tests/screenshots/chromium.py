"""Find Debian's Chromium, or install it with the system's own package manager."""

import os
import shutil
import subprocess
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_INSTALL: Final = "apt-get install --no-install-recommends chromium fonts-dejavu-core"


class ChromiumMissing(Exception):
    """There is no browser, and it cannot be installed from here."""


def chromium() -> str:
    """Return the path of a Chromium, which is installed if need be.

    Raises:
        ChromiumMissing: with one sentence that says what to do.
    """
    return _found() or _installed()


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def _installed() -> str:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ChromiumMissing(f"Chromium is missing; have it installed: sudo {_INSTALL}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command, *words = _INSTALL.split()
    for arguments in (["update"], [words[0], "--yes", *words[1:]]):
        done = subprocess.run([command, "--quiet", *arguments], env=environment, check=False)
        if done.returncode != 0:
            raise ChromiumMissing(f"Chromium could not be installed: {command} {arguments[0]}")
    return _found() or _gone()


def _gone() -> str:
    raise ChromiumMissing(f"Chromium is not where it was installed to; look at: {_INSTALL}")
