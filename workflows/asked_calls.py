"""Track the calls that people were asked about, and stop a planner that repeats them."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import Fate, unsuccessful_in_a_row
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.workflows.failures import LegFailed, LegSkipped
    from orchestrator.workflows.progress import Progress

_MOST_NOTED = 20
BY_PEOPLE = frozenset({"rejected", "responded"})
_FATES: dict[str, Fate] = {"succeeded": "done", "rejected": "refused"}


class CallRefused(Exception):
    """The budget or a person refused the call; the message is a sentence."""

    def __init__(
        self, sentence: str, *, by: str = "", hint: str = "", sent_back: bool = False
    ) -> None:
        """Take the name and the words of the person who refused; a budget refusal has neither."""
        super().__init__(sentence)
        self.seen = {"refused_by": by, "hint": hint, "sent_back": sent_back}
        """Fields for the planner's observation."""


class AskedCalls:
    """The calls of one leg that people were asked about."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def check(self, prepared: PreparedCall) -> None:
        """Stop a planner that repeats a refused call, before a person is asked again.

        A worker of an older release prepares calls without a meaning; such calls are not compared.

        Raises:
            CallRefused: the same call was refused before; reported to the planner once.
            LegFailed: the planner had been informed of the refusal, or made too many unsuccessful
                proposals.
            LegSkipped: the call would only have cancelled something that a person wants to keep.
        """
        if prepared.card is None or not prepared.meaning:
            return
        state = self._progress.state
        same = (one for one in reversed(state.asked) if prepared.meaning in one.meanings)
        before = next(same, None)
        if before is not None and before.fate in BY_PEOPLE:
            # It is reported once, in the person's words; the second time ends the leg.
            by = before.by or "a person"
            sentence = f"{before.title!r}, with the same arguments, was refused before by {by}"
            sentence += f": {before.words}" if before.words else ""
            sentence += ". It is not asked about again: propose what they want, or something else"
            if sentence in state.noted:
                whole = f"the planner proposed again what {by} refused: {before.title}"
                raise LegSkipped(f"left out: {whole}") if before.cancels else LegFailed(whole)
            self._progress.update(noted=(*state.noted, sentence)[-_MOST_NOTED:])
            sent_back = before.fate == "responded"
            raise CallRefused(sentence, by=before.by, hint=before.words, sent_back=sent_back)
        # The limit of a `retry` of a written workflow bounds its repetitions.
        is_written = self._progress.written_call is not None
        if before is not None and before.fate == "refused" and not is_written:
            refusal = f"{before.title!r} was refused when it was sent, with the same arguments: "
            refusal += before.words
            if refusal in state.noted or any(o.error == refusal for o in state.observations):
                raise LegFailed(f"the planner proposed again what was refused before: {refusal}")
            self._progress.update(noted=(*state.noted, refusal)[-_MOST_NOTED:])
            raise CallRefused(refusal)
        most = self._progress.leg.policy.confirmation.max_proposals
        if unsuccessful_in_a_row(state.asked) >= most:
            raise LegFailed(
                f"{most} proposals of this leg came to nothing, one after the other: nobody is "
                "asked about another"
            )

    def settle(self, sent: PreparedCall, outcome: ToolOutcome) -> None:
        """Record the outcome of a call that people approved."""
        if (fate := _FATES.get(outcome.kind)) is not None:
            words = outcome.reason or "" if fate == "refused" else ""
            self._change(sent, fate=fate, words=words)

    def cancelled(self, sent: PreparedCall, fate: Fate, *, by: str, words: str) -> None:
        """Record that an approved call was cancelled because of its cost."""
        self._change(sent, fate=fate, by=by, words=words)

    def _change(self, sent: PreparedCall, **changes: object) -> None:
        grant = sent.call.grant if sent.call is not None else None
        for asked in self._progress.state.asked:
            if grant is not None and asked.confirmation_id == grant.confirmation_id:
                self._progress.remember_asked(asked.model_copy(update=changes))
