"""A leg's question to the person who started the mission, waited on until its answer or expiry."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.contracts import AnswerInput
    from orchestrator.mission import Question
    from orchestrator.record import JsonObject
    from workflows.waiting import until


class Inquiry:
    """Holds the open question of a leg: one at a time."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._question: Question | None = None

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        return self._question

    def open(self, question: Question) -> None:
        """Ask it."""
        self._question = question

    async def is_answered(self) -> bool:
        """Wait for the answer; False when the question expired first."""
        assert self._question is not None
        expires_at = self._question.expires_at
        try:
            await workflow.wait_condition(
                lambda: self._question is None,
                timeout=until(expires_at) if expires_at else None,
                timeout_summary="question expires",
            )
        except TimeoutError:
            # An answer may arrive in the same task as the timer, and was promised to count.
            if self._question is not None:
                self._question = None
                return False
        return True

    def take(self, answer: AnswerInput) -> JsonObject:
        """The values of an answer that `check` let through; the question is closed."""
        self._question = None
        return answer.values

    def check(self, answer: AnswerInput) -> None:
        """Refuse an answer to another question, or with values that were not asked for.

        Raises:
            ApplicationError: typed QuestionUnknown or AnswerInvalid.
        """
        question = self._question
        if question is None or question.question_id != answer.question_id:
            raise ApplicationError(
                f"{answer.question_id}: no such question is open in this leg",
                type="QuestionUnknown",
                non_retryable=True,
            )
        problem = _problem(question, answer.values)
        if problem is not None:
            raise ApplicationError(
                f"{answer.question_id}: {problem}", type="AnswerInvalid", non_retryable=True
            )


def _problem(question: Question, values: JsonObject) -> str | None:
    """Why these values do not answer the question."""
    if values and not question.fields:
        return (
            "answer without a value; what is stored in the PII vault is looked up there and must "
            "not be sent here"
        )
    strange = sorted(set(values) - set(question.fields))
    missing = sorted(set(question.fields) - set(values))
    if not strange and not missing:
        return None
    return (
        f"answer with {', '.join(sorted(question.fields))}"
        + (f"; not asked for: {', '.join(strange)}" if strange else "")
        + (f"; missing: {', '.join(missing)}" if missing else "")
    )
