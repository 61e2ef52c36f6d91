"""An agent of Pydantic AI that books: its model chooses, and each consequence has a card."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic_ai import Agent
    from pydantic_ai.durable_exec.temporal import PydanticAIWorkflow, TemporalDurability
    from pydantic_ai.models.test import TestModel

    from orchestrator import ToolSaga

agent = Agent(
    TestModel(),  # yours: "anthropic:claude-..."
    name="concierge",
    instructions="Book what is asked for, and nothing else.",
    capabilities=[TemporalDurability()],
)


@workflow.defn
class Concierge(PydanticAIWorkflow):
    """Carries out a request in words."""

    __pydantic_ai_agents__ = (agent,)

    @workflow.run
    async def run(self, request: str) -> str:
        """Run the agent; where it fails, all that it has booked is cancelled."""
        async with ToolSaga("concierge", requester="ana@example.com") as saga:
            result = await agent.run(request, toolsets=[saga.toolset(tools=["dining_*"])])
        return result.output
