"""A plan that was only made, drawn with rich: a tree of its legs, and what of the goal is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from orchestrator.cli.drawing import block, indented, line
from orchestrator.messages.plan_answers import doubt_text
from orchestrator.messages.plan_card import leg_note, order_text, tool_text

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.core.plan_origin import PlanOrigin
    from orchestrator.messages.plan_preview import PlannedLeg, PlanPreview


def preview(console: Console, shown: PlanPreview) -> None:
    """The plan as a tree, in the order in which its legs may run."""
    console.print(indented(block(shown.goal)))
    tree = Tree(line(("what would be done", "bold")))
    for leg in sorted(shown.legs, key=lambda one: one.stage):
        branch = tree.add(
            line((leg.leg_id, "bold"), f" {leg.goal} ", (f"({leg_note(leg)})", "dim"))
        )
        for text in _inside(leg):
            branch.add(text)
    console.print(tree)
    for text in (*_origin(shown.made_by), *_left(shown), *_before(shown)):
        console.print(text)
    console.print(line(("digest ", "dim"), shown.digest))


def _inside(leg: PlannedLeg) -> Iterator[Text]:
    """Its orders, or the tools that it is likely to call; and what of the goal it serves."""
    tools = {tool.name: tool for tool in leg.tools}
    for order in leg.orders:
        yield line(("order ", "green"), order_text(order, tools))
    for tool in () if leg.orders else leg.tools:
        yield line(tool_text(tool))
    if not leg.orders and not leg.tools:
        yield line(("no tool is likely yet: it looks for one when it begins", "yellow"))
    if leg.serves:
        yield line(("serves ", "dim"), "; ".join(map(repr, leg.serves)))


def _origin(made_by: PlanOrigin) -> Iterator[Text]:
    """Who made the plan, and what was told to the model that was asked."""
    if made_by.told:
        yield line((made_by.told, "dim"))
    for number, findings in enumerate(made_by.corrected, start=1):
        yield line((f"  answer {number} did not hold: ", "dim"), "; ".join(findings))


def _left(shown: PlanPreview) -> Iterator[Text]:
    """What of the goal no leg serves, or is not carried out as it stands."""
    for text in shown.uncovered:
        yield line(("no leg serves: ", "red"), repr(text))
    for doubt in shown.doubts:
        yield line(("not carried out: ", "yellow"), doubt_text(doubt))


def _before(shown: PlanPreview) -> Iterator[Text]:
    """What would come before the first leg."""
    if shown.needs_approval:
        yield line("its plan has to be approved before it begins")
    elif shown.asks_first:
        yield line("it would ask about what is not carried out before it begins")
    yield line("nothing was done; prices are known when a call is prepared")
