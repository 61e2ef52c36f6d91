"""What a provider calls a file that it sends: read from Content-Disposition, and made harmless."""

import re
import unicodedata
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Final
from urllib.parse import unquote

_LONGEST: Final = 100
_LONGEST_HEADER: Final = 2_000
"""Characters that are read: the parser copies the rest of a header at each of its semicolons."""
_FOLDERS: Final = re.compile(r"[/\\]")


def told_name(disposition: str) -> str:
    """The name in a Content-Disposition (RFC 6266); '' when there is none that can be used.

    Without folders and without characters that show otherwise than they are; the beginning and the
    ending of a long one.
    """
    message = Message()
    message["Content-Disposition"] = disposition[:_LONGEST_HEADER]
    named = [
        value
        for key, value in message.get_params([], header="content-disposition")
        if key.lower() == "filename"
    ]
    # `filename*` says its charset, and is for whoever reads it in the place of `filename`.
    told = next((one for one in named if isinstance(one, tuple)), next(iter(named), ""))
    try:
        return plain_name(collapse_rfc2231_value(told))
    except ValueError:  # of a charset that is a codec of Python's and no charset of texts
        return plain_name(unquote(told[2] if isinstance(told, tuple) else told))


def plain_name(name: str) -> str:
    """A name that means a file and no other place, in at most 100 characters."""
    last = _FOLDERS.split(name)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C")
    bare = " ".join(shown.split()).strip(". ")
    if len(bare) <= _LONGEST:
        return bare
    stem, dot, ending = bare.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= 10 else ""
    return bare[: _LONGEST - len(ending)] + ending
