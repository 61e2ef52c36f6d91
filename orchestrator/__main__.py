"""`python -m orchestrator`: the same as the `orchestrator` command."""

import sys

if not sys.flags.safe_path:
    # The current folder, which `-m` puts first: last, a file in it can hide no library from us.
    sys.path.append(sys.path.pop(0))

from orchestrator.cli import run

run()
