"""What is in doubt of a call: asked before the call is put before anybody, and each doubt once."""

from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.messages import names
    from orchestrator.messages.leg import AnswerInput
    from orchestrator.messages.question_field import open_choice
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AskUser, Doubt
    from workflows.asked_calls import AskedCalls, CallRefused
    from workflows.failures import LegSkipped
    from workflows.progress import Progress
    from workflows.questions import Questions

PATCH: Final = "ask-about-doubts"
GO_ON: Final = "go on"
STOP: Final = "stop"
FIELD: Final = "answer"


class Doubts:
    """Has a person settle the doubts about the calls of one leg."""

    def __init__(self, progress: Progress, questions: Questions, asked: AskedCalls) -> None:
        self._progress = progress
        self._questions = questions
        self._asked_calls = asked
        self._asked = 0

    def begin(self) -> None:
        """Take up another call."""
        self._asked = 0

    async def settle(self, prepared: PreparedCall) -> bool:
        """Whether something was asked, and the call is to go on: it is prepared anew then.

        No standing approval skips it: what a rule approves is what was meant.

        Raises:
            CallRefused: something else is meant, as the person says.
            LegSkipped: this part is to be left out.
            LegLost: nobody answered in time.
        """
        doubts = self._open(prepared)
        if not doubts or not workflow.patched(PATCH):
            return False
        answer = await self._ask(prepared, doubts)
        said, by = str(answer.values.get(FIELD, "")).strip(), answer.answered_by or "a person"
        decided = said.casefold().rstrip(".!")
        if decided == STOP:
            raise LegSkipped(f"left out: {by} stopped {prepared.title!r}: {_told(doubts)}")
        if decided == GO_ON:
            self._progress.settle_doubts(doubts, goes_on=prepared.meaning)
            return True
        self._asked_calls.sent_back(prepared, by=by, words=said)
        raise CallRefused(f"{by} sent it back: {said}", by=by, hint=said, sent_back=True)

    def _open(self, prepared: PreparedCall) -> tuple[Doubt, ...]:
        """Those that nobody has decided on."""
        state = self._progress.state
        if prepared.meaning and prepared.meaning in state.went_on:
            return ()
        settled = state.doubts_settled
        return tuple(d for d in prepared.doubts if not any(_covers(s, d) for s in settled))

    async def _ask(self, prepared: PreparedCall, doubts: tuple[Doubt, ...]) -> AnswerInput:
        self._asked += 1
        call_id = self._progress.leg.call_id
        wanted = AskUser(
            question=_question(prepared, doubts),
            why="what was taken is not surely what is meant, and nobody has said that it is",
            fields={FIELD: _schema(doubts)},
        )
        return await self._questions.ask_about(
            wanted, question_id=names.doubt_id(call_id, self._asked)
        )


def _covers(settled: Doubt, doubt: Doubt) -> bool:
    """Whether it is the same, or was gone past when the plan was asked about.

    A name, a number or a day is asked about again where a call takes another one: what was gone
    past before is that nothing takes it up.
    """
    if settled.kind == "not_understood" and doubt.kind == "not_matched":
        words = doubt.about.split()
        is_value = any(not word.isalpha() or word[0].isupper() for word in words)
        return not is_value and set(words) <= set(settled.about.split())
    return (settled.kind, settled.about, settled.why) == (doubt.kind, doubt.about, doubt.why)


def _told(doubts: tuple[Doubt, ...]) -> str:
    return "; ".join(doubt.why for doubt in doubts)


def _question(prepared: PreparedCall, doubts: tuple[Doubt, ...]) -> str:
    """What is in doubt, and what follows which answer, in sentences."""
    choices = _choices(doubts)
    found = f" Found as well: {'; '.join(choices)}." if choices else ""
    choose = ", one of what was found" if choices else ""
    return (
        f"Before {prepared.title!r}: {_told(doubts)}.{found} Answer {GO_ON!r} to do it as it is, "
        f"{STOP!r} to leave this part out{choose}, or say what is meant."
    )


def _schema(doubts: tuple[Doubt, ...]) -> JsonObject:
    """Any text is an answer; some are offered."""
    offered = {choice: "" for choice in _choices(doubts)}
    options = {GO_ON: "do it as it is", STOP: "leave this part out", **offered}
    schema = open_choice(options, other="one of these, or in your own words what is meant")
    return {**schema, "title": "your answer", "minLength": 1, "maxLength": 2_000}


def _choices(doubts: tuple[Doubt, ...]) -> list[str]:
    return list(dict.fromkeys(choice for doubt in doubts for choice in doubt.choices))
