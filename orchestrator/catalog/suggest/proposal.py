"""What is proposed for a document: actions of an overlay, and the questions beside them."""

from pydantic import Field

from orchestrator.core.record import JsonObject, Record


class ProposedAction(Record):
    """One operation, and what would make it a tool."""

    tool: str = Field(description="the operationId that it would have")
    method: str
    path: str
    place: tuple[str, ...] = Field(description="the way to the operation in the document")
    title: str = ""
    update: JsonObject
    checks: tuple[str, ...] = Field(default=(), description="what a person is asked, a line each")
    is_question: bool = Field(
        default=False, description="whether all of it is one: it is written as a comment"
    )


class ProposedPair(Record):
    """A tool that makes something, and the one that takes it back."""

    tool: str
    cancel: str
    args: JsonObject
    probe: str | None = None
    is_blind: bool = Field(
        default=False, description="whether nothing finds what was made when the answer was lost"
    )


class Proposal(Record):
    """An overlay for one document, before it is written."""

    document: str
    file: str = Field(description="the name of its file, which the overlay extends")
    operations: int = Field(description="how many the document has, or those that were asked for")
    marked_before: int = 0
    actions: tuple[ProposedAction, ...] = ()
    pairs: tuple[ProposedPair, ...] = ()
    left_out: tuple[str, ...] = Field(default=(), description="operations of which nothing is said")
    remarks: tuple[str, ...] = Field(default=(), description="what to look at first")

    @property
    def marked(self) -> int:
        """How many operations it would make tools."""
        return sum(not action.is_question for action in self.actions)

    @property
    def questions(self) -> int:
        """How many operations it only asks about."""
        return sum(action.is_question for action in self.actions)

    def asking(self, why: dict[str, str]) -> "Proposal":
        """The same with these tools, by name, as questions for the reasons given.

        Of a pair whose one end becomes a question, the other does too.
        """
        why = dict(why)
        for pair in self.pairs:
            for one, other in ((pair.tool, pair.cancel), (pair.cancel, pair.tool)):
                if one in why:
                    why.setdefault(other, f"it belongs to {one}, which is not proposed")
        actions = tuple(
            a.model_copy(update={"is_question": True, "checks": (*a.checks, why[a.tool])})
            if a.tool in why and not a.is_question
            else a
            for a in self.actions
        )
        pairs = tuple(p for p in self.pairs if p.tool not in why)
        return self.model_copy(update={"actions": actions, "pairs": pairs})

    def checking(self, notes: dict[str, str]) -> "Proposal":
        """The same with one more question beside each of these tools."""
        actions = tuple(
            a.model_copy(update={"checks": (*a.checks, notes[a.tool])}) if a.tool in notes else a
            for a in self.actions
        )
        return self.model_copy(update={"actions": actions})
