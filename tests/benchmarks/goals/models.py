"""One goal and what it should leave behind, as the files of this folder say it."""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
CLINIC = HERE / "vetclinic.yaml"
DOCUMENTS = HERE / "documents"
PLAIN, MUTATED = "plain", "mutated"
PARTS = ("fit", "choose", "judge", PLAIN, MUTATED)

THEIRS = "theirs"
"""What `--only` says for the goals over documents that are not ours."""
_DAY = re.compile(r"\{([+-]\d+)(?::([dm]))?\}")


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Wish(_Read):
    """A call that should be found; `op` may name several, parted by `|`."""

    op: str
    given: Mapping[str, Any] = Field(default_factory=dict, alias="with")
    times: int = 1


class Reply(_Read):
    """What a person says to a question, or which option they choose: the one that holds it."""

    about: str
    say: Any = None
    choose: str = ""


class Goal(_Read):
    """One line of a file."""

    id: str
    category: str
    goal: str
    document: str = ""
    inputs: Mapping[str, Any] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    seeds: tuple[Wish, ...] = ()
    sky: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    effects: tuple[Wish, ...] = ()
    may: tuple[Wish, ...] = ()
    reads: tuple[Wish, ...] = ()
    says: tuple[str, ...] = ()
    ask: Literal["never", "may", "must"] = "never"
    answers: tuple[Reply, ...] = ()
    status: tuple[str, ...] = ("succeeded",)


def load(part: str, today: date) -> list[Goal]:
    """The goals of one part, on a day."""
    lines = (HERE / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Goal.model_validate_json(dated(line, today)) for line in lines]


def dated(text: str, today: date) -> str:
    """A text with its days counted from this one."""

    def day(found: re.Match[str]) -> str:
        at = today + timedelta(days=int(found[1]))
        said = {"d": f"{at.day} {at:%B}", "m": f"{at:%B} {at.day}"}
        return said.get(found[2], at.isoformat())

    return _DAY.sub(day, text)
