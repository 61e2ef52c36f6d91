"""`python -m tests.interop bring FOLDER` and `python -m tests.interop run FOLDER`.

`bring` puts the third-party documents of `documents.json` into a folder, by git, each at its
commit. `run` tries every document of a folder: its operations compiled, linted, and called with
made-up arguments at Prism, an independent mock server that validates what it is sent. `proposals`
counts what `tools suggest` proposes for each, and the linter's errors in it. `missions` plays a
mission that succeeds and one that is rolled back with each document of `missions.json`. `workflows`
runs every Arazzo workflow of a folder at a sandbox of the OpenAPI documents that it is over.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.interop import listing
from tests.interop.missions import play_missions
from tests.interop.proposals import try_proposals
from tests.interop.strangers_workflows import run_workflows
from tests.interop.trial import try_documents


def main(arguments: Sequence[str]) -> int:
    """Do what was asked for; 1 if a document could not be brought, or a disagreement is ours."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop")
    commands = parser.add_subparsers(dest="command", required=True)
    bring = commands.add_parser("bring", help="bring the named documents by git")
    bring.add_argument("folder", type=Path)
    bring.add_argument("--mirrors", type=Path, help="folder with git directories, for no network")
    bring.add_argument("--workflows", action="store_true", help="those with Arazzo workflows")
    run = commands.add_parser("run", help="try every document of a folder")
    run.add_argument("folder", type=Path)
    run.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these documents")
    run.add_argument("--cache", type=Path, default=Path("build/interop"), help="where Prism is put")
    run.add_argument("--out", type=Path, help="folder for every call, and the table as Markdown")
    run.add_argument("--most", type=int, help="operations of a document that are called")
    play = commands.add_parser("missions", help="play missions with the documents of a folder")
    play.add_argument("folder", type=Path)
    play.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these documents")
    propose = commands.add_parser("proposals", help="propose a contract for every document")
    propose.add_argument("folder", type=Path)
    propose.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these documents")
    flows = commands.add_parser("workflows", help="run the Arazzo workflows of a folder")
    flows.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "run":
        return try_documents(options)
    if options.command == "proposals":
        return try_proposals(options)
    if options.command == "workflows":
        return run_workflows(options)
    if options.command == "missions":
        return play_missions(options)
    named = listing.named(listing.WORKFLOWS if options.workflows else listing.NAMED)
    missed = listing.bring(options.folder, options.mirrors, named)
    sys.stderr.writelines(f"{sentence}\n" for sentence in missed)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
