"""The JSON objects of documents, requests and answers, whose members nobody has checked yet."""

from typing import Any

JsonObject = dict[str, Any]
