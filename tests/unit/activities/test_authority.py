"""The activities that prepare and send go by the worker's own policy and keys."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.authority import Authority
from activities.planning_activities import PlanningActivities
from activities.prepare_activities import PrepareActivities
from activities.tool_activities import ToolActivities
from orchestrator.adapters.approval_keys import ApprovalKeys
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Approval, Approve, Grant
from orchestrator.confirmation.policy import ApproverRule, ConfirmationPolicy, StandingApproval
from orchestrator.confirmation.signatures import SigningKey, sign_decision
from orchestrator.messages.begin import BeginInput
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.routing.router import Router
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import MemoryGrants, TrustedOrigins
from orchestrator.testing.memory import MemoryTraces
from tests.unit.activities.planners import Scripted

Shop = Callable[..., Catalog]
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
PRIVATE, PUBLIC = SigningKey.generate(issuer="example.com", subject="ann@example.com")
CFO_ALONE = MissionPolicy(
    confirmation=ConfirmationPolicy(approvers=(ApproverRule(approvers=("cfo@example.com",)),))
)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [PUBLIC]}))
    return path


async def prepared(
    store: CatalogStore, client: Any, catalog: Catalog, authority: Authority
) -> PreparedCall:
    """An order of book b7, asked for by zoe."""
    wanted = PrepareInput(
        call_id="m.1-shop.2",
        mission_id="m",
        leg_id="1-shop",
        tool="order_book",
        arguments={"book_id": "b7"},
        catalog_digest=catalog.digest,
        requester="zoe@example.com",
        now=datetime.now(UTC),
    )
    activities = PrepareActivities(
        store, client.as_client, cast(Client, None), authority=authority, origins=TrustedOrigins()
    )
    made = await ActivityEnvironment().run(activities.prepare_call, wanted)
    assert isinstance(made, PreparedCall)
    return made


def approved(made: PreparedCall, *, signed: bool) -> ToolCall:
    assert made.call is not None
    assert made.card is not None
    card, at = made.card, datetime.now(UTC)
    yes = Approve(
        confirmation_id=card.confirmation_id, digest=card.digest, approver="ann@example.com"
    )
    if signed:
        yes = sign_decision(yes, SigningKey(PRIVATE), digest=card.digest, at=at)
    approval = Approval(approver=yes.approver, issuer=yes.issuer, signature=yes.signature, at=at)
    grant = Grant(
        confirmation_id=card.confirmation_id,
        digest=card.digest,
        approver=yes.approver,
        granted_at=at,
        opened_at=card.opened_at,
        approvals=(approval,),
    )
    return made.call.model_copy(update={"grant": grant})


async def send(
    store: CatalogStore, client: Any, call: ToolCall, authority: Authority, *, attempt: int = 1
) -> ToolOutcome:
    activities = ToolActivities(
        store,
        client.as_client,
        MemoryGrants(),
        cast(Client, None),
        authority=authority,
        origins=TrustedOrigins(),
    )
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    outcome = await environment.run(activities.invoke_tool, call)
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_the_public_keys_travel_with_a_prepared_call(
    store: CatalogStore, shop: Shop, scripted: Any, key_file: Path
) -> None:
    """For the gate, which may read no file; the card says that signatures are needed."""
    authority = Authority(keys=ApprovalKeys(str(key_file)))
    made = await prepared(store, scripted({}), shop(), authority)

    assert made.card is not None
    assert made.card.signed
    assert made.card.requester == "zoe@example.com"
    assert made.approval_keys is not None
    assert made.approval_keys.keys == (PUBLIC,)


async def test_keys_that_cannot_be_had_let_nobody_ask(
    store: CatalogStore, shop: Shop, scripted: Any, tmp_path: Path
) -> None:
    """No card without them: it would be decided by names again. Another attempt may have them."""
    lost = ApprovalKeys(str(tmp_path / "lost.json"))
    with pytest.raises(ApplicationError) as refused:
        await prepared(store, scripted({}), shop(), Authority(keys=lost))

    assert refused.value.type == "ApprovalKeysUnavailable"
    assert not refused.value.non_retryable


async def test_a_signed_grant_is_sent(
    store: CatalogStore, shop: Shop, scripted: Any, key_file: Path
) -> None:
    """Verified again with the keys of this worker."""
    client, authority = (
        scripted({"order_book": [ORDERED]}),
        Authority(keys=ApprovalKeys(str(key_file))),
    )
    made = await prepared(store, client, shop(), authority)

    outcome = await send(store, client, approved(made, signed=True), authority)

    assert outcome.kind == "succeeded"


async def test_a_forged_grant_never_leaves(
    store: CatalogStore, shop: Shop, scripted: Any, key_file: Path
) -> None:
    """A leg that makes one up, or that took an unsigned decision, is refused where it counts."""
    client, catalog = scripted({"order_book": [ORDERED]}), shop()
    plain, keys = Authority(), ApprovalKeys(str(key_file))
    made = await prepared(store, client, catalog, plain)
    unsigned, signed = approved(made, signed=False), approved(made, signed=True)
    other_requester = signed.model_copy(update={"requester": "eve@example.com"})
    outcomes = [
        await send(store, client, unsigned, Authority(keys=keys)),
        await send(store, client, signed, Authority(CFO_ALONE, keys)),
    ]
    for call in (other_requester, signed.model_copy(update={"amounts": ()})):
        with pytest.raises(ApplicationError) as refused:
            await send(store, client, call, Authority(keys=keys))
        assert (refused.value.type, refused.value.non_retryable) == ("GrantMissing", True)

    assert [outcome.kind for outcome in outcomes] == ["rejected"] * 2
    assert "have to be signed here" in str(outcomes[0].reason)
    assert "may not decide on this" in str(outcomes[1].reason)
    assert client.calls == []


async def test_a_grant_that_is_refused_later_leaves_the_first_attempt_unclear(
    store: CatalogStore, shop: Shop, scripted: Any, key_file: Path
) -> None:
    """Its key was taken out of the set between two attempts: the first may have arrived."""
    client = scripted({"order_book": [ORDERED]})
    made = await prepared(store, client, shop(), Authority())
    outcome = await send(
        store,
        client,
        approved(made, signed=False),
        Authority(keys=ApprovalKeys(str(key_file))),
        attempt=2,
    )

    assert outcome.kind == "unknown"
    assert client.calls == []


async def test_the_worker_plans_no_mission_whose_policy_is_wider_than_its_own(
    store: CatalogStore, shop: Shop, tmp_path: Path
) -> None:
    """Whatever its client has looked at."""
    planning = PlanningActivities(
        store,
        Router,
        Scripted(),
        (),
        MemoryTraces(),
        authority=Authority(),
    )
    free = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
    mission = BeginInput(
        mission_id="m",
        goal="Order a book",
        now=datetime.now(UTC),
        catalog_digest=shop().digest,
        policy=MissionPolicy(confirmation=free),
    )
    with pytest.raises(ApplicationError, match="may only tighten") as refused:
        await ActivityEnvironment().run(planning.split_goal, mission)

    assert refused.value.type == "PolicyWidened"
    assert refused.value.non_retryable
