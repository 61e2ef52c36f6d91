"""What a tool's path says that its answer is about, and what documents call the id of a thing."""

from functools import lru_cache

from orchestrator.catalog.tool import Tool
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.words import tokens


def thing_of(tool: Tool) -> str:
    """What is listed or made under a tool's path: "pet" of /pets, nothing of /pets/{pet_id}."""
    last = tool.path.rstrip("/").rpartition("/")[2]
    return "" if "{" in last else singular(last)


def thing_with_id(tool: Tool) -> str:
    """That thing, where the answer is one or lists nothing else, and calls its id no more than so.

    `''` where it does not.
    """
    schema = tool.output_schema or {}
    root = resolve(schema, schema)
    parts = [resolve(part, schema) for part in (root, *properties_of(root).values())]
    held = [part["items"] for part in parts if isinstance(part.get("items"), dict)]
    members = [resolve(items, schema) for items in held if isinstance(items, dict)]
    listed = [one for one in members if properties_of(one)]
    if len(listed) > 1:
        return ""
    told = listed[0] if listed else root
    return thing_of(tool) if "id" in properties_of(told) else ""


@lru_cache(maxsize=1 << 12)
def id_names(thing: str) -> frozenset[str]:
    """What inputs call the id of a thing: pet_id, petId, pet-id."""
    words = [*tokens(thing), "id"] if thing else []
    camel = "".join((*words[:1], *(word.title() for word in words[1:])))
    return frozenset({"_".join(words), "-".join(words), camel} - {""})
