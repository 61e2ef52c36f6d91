"""A connection to PostgreSQL that does not wait for ever for a server that hangs.

A machine that is stopped, or whose disk is, keeps its connections and answers nothing on them: no
setting of the server, nor of TCP, ends that.
"""

from typing import Any, Final

import psycopg
from psycopg.abc import RV, PQGen

_ANSWER_S: Final = 10.0
"""For one statement. The longest takes milliseconds, and the next longest waits for a migration."""


class AnsweringConnection(psycopg.Connection[Any]):
    """One that is given up when a statement is not answered in time."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """What the server answers.

        Raises:
            psycopg.OperationalError: nothing within the time, or that the connection broke.
        """
        try:
            return super().wait(gen, interval, timeout or _ANSWER_S)
        except psycopg.errors._WaitTimeout as late:
            self.pgconn.finish()  # an answer that comes later would be taken for the next one's
            why = f"it has not answered within {_ANSWER_S:g} s"
            raise psycopg.OperationalError(why) from late
