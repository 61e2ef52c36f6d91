"""A plan that is only shown: made as a mission's would be, and nothing follows from it."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.messages import names
    from orchestrator.messages.plan_preview import PlanInput, PlanPreview, PlanTaken
    from workflows import calls


@workflow.defn(name=names.PLAN_WORKFLOW)
class PlanWorkflow:
    """Has a worker plan, and answers; it has no leg, no ledger, and no other activity."""

    @workflow.run
    async def run(self, wanted: PlanInput) -> PlanPreview:
        """What a mission of this request would do.

        Raises:
            ActivityError: it cannot be planned; the cause says why.
        """
        now = workflow.info().start_time
        return await calls.preview_plan(wanted.model_copy(update={"now": now}))

    @workflow.update(name=names.TAKE_ON_UPDATE)
    def take_on(self, wanted: PlanInput) -> PlanTaken:
        """That a worker has it: answered before anything is planned."""
        return PlanTaken()
