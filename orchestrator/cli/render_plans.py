"""A plan that was only made, drawn with rich: a tree of its legs, and what of the goal is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from orchestrator.cli.drawing import block, indented, line
from orchestrator.messages.plan_answers import doubt_text
from orchestrator.messages.plan_card import leg_note, order_text

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.core.plan_origin import PlanOrigin
    from orchestrator.messages.plan_preview import PlannedLeg, PlannedTool, PlanPreview


def preview(console: Console, shown: PlanPreview) -> None:
    """The plan as a tree, in the order in which its legs may run."""
    console.print(indented(block(shown.goal)))
    tree = Tree(line(("what would be done", "bold")))
    for leg in sorted(shown.legs, key=lambda one: one.stage):
        branch = tree.add(_leg(leg))
        for told in _inside(leg):
            branch.add(told)
    console.print(tree)
    for text in _origin(shown.made_by):
        console.print(text)
    for text_of_goal in shown.uncovered:
        console.print(line(("no leg serves: ", "red"), repr(text_of_goal)))
    for doubt in shown.doubts:
        console.print(line(("not carried out: ", "yellow"), doubt_text(doubt)))
    for text in _before(shown):
        console.print(text)
    console.print(line(("digest ", "dim"), shown.digest))


def _origin(made_by: PlanOrigin) -> Iterator[Text]:
    """Who made the plan, and what was told to the model that was asked."""
    if made_by.told:
        yield line((made_by.told, "dim"))
    for number, findings in enumerate(made_by.corrected, start=1):
        yield line((f"  answer {number} did not hold: ", "dim"), "; ".join(findings))


def _leg(leg: PlannedLeg) -> Text:
    return line((leg.leg_id, "bold"), f" {leg.goal} ", (f"({leg_note(leg)})", "dim"))


def _inside(leg: PlannedLeg) -> Iterator[Text]:
    """Its tools, its orders, and the words of the goal that it serves."""
    for tool in leg.tools:
        yield _tool(tool)
    if not leg.tools:
        yield line(("no tool is likely yet: it looks for one when it begins", "yellow"))
    tools = {tool.name: tool for tool in leg.tools}
    for order in leg.orders:
        yield line(("orders ", "dim"), order_text(order, tools))
    if leg.serves:
        yield line(("serves ", "dim"), "; ".join(map(repr, leg.serves)))
    for need in leg.needs:
        yield line((f"needs of {need.leg_id}: ", "dim"), need.what)


def _tool(tool: PlannedTool) -> Text:
    if not tool.is_side_effect:
        return line((tool.name, "cyan"), f"  {tool.title}; reads")
    asked = (
        (f"asks first ({tool.card_type})", "green")
        if tool.card_type is not None
        else ("asks nobody", "red")
    )
    return line((tool.name, "cyan"), f"  {tool.title}; ", asked, f"; {tool.undo}")


def _before(shown: PlanPreview) -> Iterator[Text]:
    """What would come before the first leg."""
    if shown.needs_approval:
        yield line("its plan has to be approved before it begins")
    elif shown.asks_first:
        yield line("it would ask about what is in doubt before it begins")
    yield line("nothing was done; prices are known when a call is prepared")
