"""Which input each stated day, time and place of a clause goes to: an input takes one of them."""

from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.language import lexicon
from orchestrator.planning.accounting.grounds import takes
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.rules.parameters import Parameter, Side

_KINDS: Final = frozenset({"date", "time", "place"})
_FROM: Final = "from"


def filled(said: Iterable[Said], inputs: Iterable[tuple[str, Parameter]]) -> Mapping[int, str]:
    """Where each value goes, by its position; what no input is left for has no entry.

    Inputs of one name, of several tools, take one value; the same value said twice goes to one.
    """
    found: dict[int, str] = {}
    where: dict[tuple[str, str], str] = {}
    used: set[tuple[str, str]] = set()
    known = tuple(inputs)
    for one in said:
        if one.kind not in _KINDS:
            continue
        value = (one.kind, str(one.value))
        if value not in where:
            free = [(w, p) for w, p in known if takes(one, p) and (one.kind, p.name) not in used]
            best = min(free, key=lambda pair: _unlike(one, pair[1]), default=None)
            if best is None:
                continue
            where[value] = best[0]
            used.add((one.kind, best[1].name))
        found[one.position] = where[value]
    return found


def _unlike(said: Said, parameter: Parameter) -> int:
    """How little an input is the one that a value is introduced for; 0 is meant."""
    wanted = _side(said)
    if parameter.side == wanted:
        return 0
    return 1 if parameter.side is None or wanted is None else 2


def _side(said: Said) -> Side | None:
    if said.kind == "place":
        return "start" if said.hint == _FROM else "end"
    return "end" if said.hint in lexicon.END_HINTS else "start"
