"""The names under which telemetry leaves, for `orchestrator telemetry` and docs/observing.md."""

from dataclasses import dataclass

from orchestrator.adapters.telemetry.told_names import MEASUREMENTS, SPANS


@dataclass(frozen=True)
class TelemetryRow:
    """One name, and what leaves under it."""

    name: str
    kind: str
    attributes: tuple[str, ...]
    means: str

    @property
    def markdown(self) -> str:
        """A row of a table."""
        attributes = ", ".join(f"`{name}`" for name in self.attributes)
        return f"| `{self.name}` | {self.kind} | {attributes} | {self.means} |"


def telemetry_rows() -> tuple[TelemetryRow, ...]:
    """All of them, spans first."""
    spans = (TelemetryRow(one.name, "span", one.attributes, one.means) for one in SPANS)
    measured = (
        TelemetryRow(one.name, f"{one.kind}, {one.unit}", one.attributes, one.means)
        for one in MEASUREMENTS
    )
    return (*spans, *measured)


def markdown_table() -> str:
    """The table of docs/observing.md."""
    head = ("| name | kind | attributes | is |", "|---|---|---|---|")
    return "\n".join([*head, *(row.markdown for row in telemetry_rows())])
