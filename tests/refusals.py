"""Errors without a class of their own, awaited by their code."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.core.errors import OrchestratorError


@contextmanager
def raises_code(code: str) -> Iterator[pytest.ExceptionInfo[OrchestratorError]]:
    """Expect an error with this code."""
    with pytest.raises(OrchestratorError) as raised:
        yield raised
    assert raised.value.code == code
