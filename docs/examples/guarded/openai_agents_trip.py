"""An agent of the OpenAI Agents SDK that books: its model chooses, each consequence has a card."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from agents import Agent, Runner

    from orchestrator import ToolSaga


@workflow.defn
class Butler:
    """Carries out a request in words."""

    @workflow.run
    async def run(self, request: str) -> str:
        """Run the agent; where it fails, all that it has booked is cancelled."""
        async with ToolSaga("butler", requester="ana@example.com") as saga:
            tools = await saga.function_tools(tools=["dining_*"], request=request)
            agent = Agent(name="butler", instructions="Book what is asked for.", tools=[*tools])
            result = await Runner.run(agent, request)
        return str(result.final_output)
