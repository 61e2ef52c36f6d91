"""An error of planners over models that carries what the model was paid for all the same."""

from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid


class AnswerUnusable(DecisionInvalid):
    """Answers of a model that cannot be carried out, the corrected one neither: a step is spent."""

    def __init__(self, reason: str, usage: Usage | None = None) -> None:
        """Take what is wrong with the last answer, and what all of them took."""
        super().__init__(reason)
        self.usage = usage or Usage()


def usage_in(error: DecisionInvalid) -> Usage:
    """What was paid for answers that came to this error, as far as it tells."""
    return error.usage if isinstance(error, AnswerUnusable) else Usage()
