"""Preview a plan, made as for a mission, without carrying it out."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.plan_preview import PlanInput, PlanPreview
    from orchestrator.workflows import running


@workflow.defn(name=names.PLAN_WORKFLOW)
class PlanWorkflow:
    """Asks a worker for a plan and returns it, without a leg, a ledger or another activity."""

    @workflow.run
    async def run(self, wanted: PlanInput) -> PlanPreview:
        """Return the plan that a mission of this request would have.

        Raises:
            ActivityError: the request cannot be planned; the cause has the reason.
        """
        now = workflow.info().start_time
        return await running.once(
            names.PREVIEW_PLAN,
            wanted.model_copy(update={"now": now}),
            result_type=PlanPreview,
            summary="plan, and do nothing",
            **running.SPLITTING,
        )
