"""What an amendment may say: it is refused before it enters history, for that keeps what it says.

Whether the amended call is valid is found by an activity, and so only once the amendment is kept;
what could be a person's in the wrong place has to be refused here.
"""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.catalog.card_types import OVERCHARGE, PLAN
    from orchestrator.confirmation.models import Amend, ConfirmationCard
    from orchestrator.core.errors import AmendmentInvalid, PersonalValueSent
    from orchestrator.core.pii import bare_personal, handle_for
    from workflows.failures import refuse


def check_amendment(amend: Amend, card: ConfirmationCard) -> None:
    """Refuse an input that the tool does not take, and a personal value where a handle belongs.

    Raises:
        ApplicationError: typed AmendmentInvalid or PersonalValueSent; neither quotes a value.
    """
    if card.card_type == OVERCHARGE:
        problem = "what was done and charged cannot be amended: approve keeps it, reject undoes it"
        raise refuse(AmendmentInvalid(amend.confirmation_id, problem))
    if card.card_type == PLAN:
        problem = (
            "a plan is not amended: say the whole goal otherwise (orchestrator confirm respond "
            f"{amend.confirmation_id} --text ...)"
        )
        raise refuse(AmendmentInvalid(amend.confirmation_id, problem))
    _check_names(amend, card)
    bare = bare_personal(amend.changes, card.personal)
    if bare:
        raise refuse(
            PersonalValueSent(
                amend.confirmation_id,
                f"{', '.join(bare)} is personal and must not be sent as it is; store it "
                f"(orchestrator pii set {bare[0]}) and amend with {bare[0]}={handle_for(bare[0])}",
            )
        )


def _check_names(amend: Amend, card: ConfirmationCard) -> None:
    if card.inputs is not None:
        strange = [name for name in amend.changes if name not in card.inputs]
        if strange:
            problem = f"{card.tool} takes no {', '.join(strange)}; it takes {_listed(card.inputs)}"
            raise refuse(AmendmentInvalid(amend.confirmation_id, problem))
        return
    for name in sorted(amend.changes.keys() - card.arguments.keys() - set(card.personal)):
        with workflow.unsafe.imports_passed_through():  # tables of phone numbers, for few
            from orchestrator.core.personal_look import personal_look
        look = personal_look(amend.changes[name])
        if look is not None:
            raise refuse(
                PersonalValueSent(
                    amend.confirmation_id,
                    f"{name} is no declared input of {card.tool}, and its value looks like {look}: "
                    "it would be kept in the open",
                )
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no input"
