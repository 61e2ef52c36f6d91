"""Why a text is no value of a field."""


class Unread(Exception):
    """A text cannot be read, or in more than one way; the sentence says what could be typed."""

    def __init__(self, why: str, *readings: str) -> None:
        """Take one sentence, and the readings there are when there are several."""
        super().__init__(why)
        self.readings = readings
