"""Check amendments before they enter the history, which keeps their values for ever.

An activity validates the amended call, and therefore only after the amendment is in the history. A
value that could be personal and is in the wrong place has to be refused here.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.catalog.card_types import OVERCHARGE, PLAN
    from orchestrator.confirmation.models import Amend, ConfirmationCard
    from orchestrator.core.errors import ConfirmationError
    from orchestrator.core.pii import bare_personal, handle_for
    from orchestrator.workflows.failures import refuse


def check_amendment(amend: Amend, card: ConfirmationCard) -> None:
    """Refuse an input that the tool does not take, and a personal value where a handle belongs.

    Raises:
        ApplicationError: typed AmendmentInvalid or PersonalValueSent; neither quotes a value.
    """
    if card.card_type == OVERCHARGE:
        problem = "what was done and charged cannot be amended: approve keeps it, reject cancels it"
        raise refuse(ConfirmationError(amend.confirmation_id, problem, code="AmendmentInvalid"))
    if card.card_type == PLAN:
        problem = (
            "a plan is not amended: say the whole goal otherwise (orchestrator confirm respond "
            f"{amend.confirmation_id} --text ...)"
        )
        raise refuse(ConfirmationError(amend.confirmation_id, problem, code="AmendmentInvalid"))
    _check_names(amend, card)
    bare = bare_personal(amend.changes, card.personal)
    if bare:
        raise refuse(
            ConfirmationError(
                amend.confirmation_id,
                f"{', '.join(bare)} is personal and must not be sent as it is; store it "
                f"(orchestrator pii set {bare[0]}) and amend with {bare[0]}={handle_for(bare[0])}",
                code="PersonalValueSent",
            )
        )


def _check_names(amend: Amend, card: ConfirmationCard) -> None:
    if card.inputs is not None:
        strange = [name for name in amend.changes if name not in card.inputs]
        if strange:
            problem = f"{card.tool} takes no {', '.join(strange)}; it takes {_listed(card.inputs)}"
            raise refuse(ConfirmationError(amend.confirmation_id, problem, code="AmendmentInvalid"))
        return
    for name in sorted(amend.changes.keys() - card.arguments.keys() - set(card.personal)):
        with workflow.unsafe.imports_passed_through():  # loads phone number tables, rarely needed
            from orchestrator.core.personal_look import personal_look
        look = personal_look(amend.changes[name])
        if look is not None:
            raise refuse(
                ConfirmationError(
                    amend.confirmation_id,
                    f"{name} is no declared input of {card.tool}, and its value looks like {look}: "
                    "it would be kept in the open",
                    code="PersonalValueSent",
                )
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no input"
