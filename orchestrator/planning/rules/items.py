"""Several found things for several calls: which are meant, which are left, and what is asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.clause_reading import matter_start
from orchestrator.language.intent import Action
from orchestrator.language.quantifiers import place_in
from orchestrator.planning.models import Observation
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.argument_draft import Lack
from orchestrator.planning.rules.how_many import HowMany
from orchestrator.planning.rules.narrowing import excepts, narrowed
from orchestrator.planning.rules.parameters import Parameter
from orchestrator.planning.rules.ranking import Ranking
from orchestrator.planning.rules.situation import Situation
from orchestrator.planning.rules.thing_choices import answer_name, choice_of_several, given
from orchestrator.planning.rules.utterance import Utterance

_TOLD: Final = re.compile(r"\b(?:that|saying|says)\b|:\s", re.IGNORECASE)

_MATTER: Final = re.compile(
    r"\b(?:that|saying|says|about|regarding|concerning)\b|:\s", re.IGNORECASE
)


def spoken_text(utterance: Utterance) -> str:
    """A clause without what somebody is told."""
    sends = utterance.reading.action is Action.SEND
    told = (_MATTER if sends else _TOLD).search(utterance.text)
    ends = (told.start() if told else None, matter_start(utterance.text))
    return utterance.text[: min((end for end in ends if end is not None), default=None)]


@dataclass(frozen=True)
class Picking:
    """The things that a leg calls its tool for, one by one; `key` is the input that tells them."""

    tool: Tool
    situation: Situation
    asked: HowMany
    key: Parameter

    def left(
        self, ranking: Ranking, heeded: JsonObject, known: frozenset[str]
    ) -> list[Item] | Lack:
        """The things that the call has not been made for, or what a person is asked first.

        Nothing is begun before it is sure which things are meant, and that all can be done.
        """
        done = self._done()
        if (chosen := self._chosen(ranking)) is not None:
            meant, lack = chosen, None if chosen else Lack(reason="none of those found was chosen")
        else:
            meant, lack = self._meant(ranking, heeded, known)
        if lack is None and not done:
            lack = self._too_many(len(meant))
        if lack is not None and not done:
            return lack
        left = [item for item in meant if self._value(item) not in done]
        return left or Lack(is_done=True)

    def _chosen(self, ranking: Ranking) -> list[Item] | None:
        """The things that a person chose; None when nobody was asked."""
        answer = self.situation.context.inputs.get(answer_name(self.key))
        if answer_name(self.key) in self.tool.properties or answer is None:
            return None
        values = answer if isinstance(answer, list) else [v.strip() for v in str(answer).split(",")]
        return [item for item in ranking.items if self._value(item) in values]

    def _meant(
        self, ranking: Ranking, heeded: JsonObject, known: frozenset[str]
    ) -> tuple[list[Item], Lack | None]:
        """The things that the clause means, and what is to be asked about them."""
        utterance, number = self.situation.utterance, self.asked.number
        everything = [*ranking.items, *(i for i in ranking.unsure if i not in ranking.items)]
        if ranking.doubt or ranking.unsure:
            why = ranking.doubt or "of some that were found nobody can tell whether they are meant"
            return everything, self._ask(everything, why)
        if place_in(utterance.text) is not None and number is not None:
            if len(ranking.items) < number:
                return everything, self._ask(everything, self._found(len(everything)))
            return list(ranking.items[:number]), None
        # An exception that something bears has been heeded: what it rules out is known by it.
        text, ruled_out = spoken_text(utterance), ranking.ruled_out
        things = (*ranking.items, *ruled_out) if excepts(text) else ranking.items
        found = narrowed(things, utterance, used=heeded, known=known, text=text)
        meant = [item for item in found.items if item not in ruled_out]
        if found.unread:
            words = ", ".join(map(repr, found.unread))
            return meant, self._ask(meant, f"nothing that was found says {words}")
        if self.asked.is_vague:
            return meant, self._ask(meant, "how many of them are meant is not said")
        if number is not None and len(meant) != number:
            return meant, self._ask(meant, self._found(len(meant)))
        return meant, None

    def _found(self, number: int) -> str:
        return f"{self.asked.number} are asked for, and {number} were found"

    def _ask(self, items: Sequence[Item], why: str) -> Lack:
        return Lack((choice_of_several(self.key, items),), note=why)

    def _too_many(self, number: int) -> Lack | None:
        """Why as many are not begun: more than an agent does of a kind, or has calls left for."""
        agent = self.situation.context.agent
        seen = self.situation.context.observations
        made = sum(one.outcome in ("succeeded", "rejected", "unknown") for one in seen)
        steps = agent.max_steps - len(seen) - 1
        most = min(agent.max_items, agent.max_tool_calls - made, steps)
        if number <= most:
            return None
        return Lack(
            reason=f"{number} things are meant, and the agent {agent.name} does at most "
            f"{max(most, 0)} one by one; nothing was done: name fewer, or raise its max_items"
        )

    def _value(self, item: Item) -> JsonValue:
        value = given(item, self.key)
        return value[0] if isinstance(value, list) and value else value

    def _done(self) -> list[JsonValue]:
        """The things that the call was made for already."""
        made = (o for o in self.situation.tried(self.tool) if o.outcome == "succeeded")
        return [value for seen in made for value in _values(seen, self.key.name)]


def _values(seen: Observation, name: str) -> list[JsonValue]:
    value = seen.arguments.get(name)
    return value if isinstance(value, list) else [value]
