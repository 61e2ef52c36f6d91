"""Decisions that can be proved, and policies that only tighten, on an installation of their own.

Its worker has approval keys and a policy, which hold for all of its missions: others could not run
beside these.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.adapters.approval_keys import load_signing_key
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval, TwoApprovers
from orchestrator.confirmation.signatures import SigningKey, sign_decision
from orchestrator.core import errors
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.names import mission_of
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import eventually, run_to_end
from tests.forked import ForkedStack
from tests.refusals import raises_code

if TYPE_CHECKING:
    from tests.integration.conftest import Cli

ALERTS = "Subscribe to weather alerts for Oslo"
MESSAGE = "Message #finance that the budget review is on Friday"
CFO, ANN, ZOE = "cfo@finance.example.com", "ann@finance.example.com", "zoe@example.com"
POLICY = """
confirmation:
  approvers: [{approvers: ["*@finance.example.com"]}]
  requester_may_approve: false
  standing: [{name: messages, tools: [message_send]}]
"""
_PRIVATE, _PUBLIC = SigningKey.generate(issuer="https://id.example.com", subject="")
SERVICE = SigningKey(_PRIVATE)
"""Of a service that signs for whoever is logged in; its public key names nobody."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the operator, and the private keys of people."""
    made = tmp_path_factory.mktemp("operator")
    (made / "policy.yaml").write_text(POLICY)
    of_service = {name: value for name, value in _PUBLIC.items() if name not in ("iss", "sub")}
    (made / "jwks.json").write_text(json.dumps({"keys": [of_service, _key_of(made, CFO)]}))
    _key_of(made, "eve@example.com")  # which nobody trusts
    return made


def _key_of(folder: Path, name: str) -> dict[str, object]:
    """Write a person's private key; their public one."""
    private, public = SigningKey.generate(issuer="example.com", subject=name)
    (folder / f"{name.partition('@')[0]}.jwk").write_text(json.dumps(private))
    return dict(public)


@pytest.fixture(scope="module")
async def governed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """The installation: its worker knows keys and policy, its clients know neither."""
    installation = ForkedStack(
        tmp_path_factory.mktemp("governed"),
        (bundled_specs(),),
        Ports.free(),
        variables={"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"},
    )
    worker = installation.start_worker
    operators = {
        "ORCHESTRATOR_APPROVAL_KEYS": str(folder / "jwks.json"),
        "ORCHESTRATOR_MISSION_POLICY": str(folder / "policy.yaml"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installation, "start_worker", lambda: worker(variables=operators))
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture(scope="module")
async def boss(governed: Stack) -> MissionClient:
    return await governed.client()


@pytest.fixture(scope="module")
def command(governed: Stack, cli: Cli) -> Cli:
    return type(cli)(governed.environment)


async def asked(
    client: MissionClient, *, requester: str = ZOE, policy: MissionPolicy | None = None
) -> tuple[MissionHandle, ConfirmationCard]:
    """A mission that waits at its card."""
    request = MissionRequest(goal=ALERTS, requester=requester, policy=policy or MissionPolicy())
    mission = await client.start(request)
    (card,) = await eventually(mission.confirmations)
    return mission, card


def by(key: SigningKey, card: ConfirmationCard, name: str) -> Approve:
    return sign_decision(
        Approve(confirmation_id=card.confirmation_id, digest=card.digest),
        key,
        digest=card.digest,
        at=datetime.now(UTC),
        issuer=key.issuer,
        subject=name,
    )


async def history_of(client: MissionClient, card: ConfirmationCard) -> str:
    mission = client.temporal.get_workflow_handle(mission_of(card.confirmation_id))
    return (await mission.fetch_history()).to_json()


async def test_a_name_is_no_proof(boss: MissionClient, command: Cli, folder: Path) -> None:
    """Unsigned, by an unknown key, for somebody else: refused without a trace. Else recorded."""
    mission, card = await asked(boss)
    approve = ("confirm", "approve", card.confirmation_id, "--digest", card.digest)
    shown, refused = await asyncio.gather(
        command("confirm", "show", card.confirmation_id), command(*approve, "--approver", CFO)
    )
    with pytest.raises(errors.SignatureRefused, match="no key that is trusted here"):
        await boss.decide(by(load_signing_key(folder / "eve.jwk"), card, CFO))
    with pytest.raises(errors.SignatureRefused, match=f"signs for {CFO} alone"):
        await boss.decide(by(load_signing_key(folder / "cfo.jwk"), card, ANN))
    with pytest.raises(errors.SignatureRefused, match="have to be signed"):
        await boss.reject(card.confirmation_id, reason="no", approver=CFO)
    untouched = await history_of(boss, card)
    approved = await command(*approve, "--key", str(folder / "cfo.jwk"), "--json")
    result = await mission.result()
    (decision,) = result.legs[0].decisions

    assert "known by their signatures" in shown.stdout
    assert ZOE in shown.stdout
    assert refused.exit_code == 2
    assert "decisions have to be signed here" in refused.stderr
    assert "UPDATE" not in untouched
    assert CFO not in untouched
    assert approved.json["accepted"] == "approved"
    assert result.status is MissionStatus.SUCCEEDED
    assert (decision.issuer, decision.approver) == ("example.com", CFO)
    assert decision.signature
    assert result.receipts[0].confirmed_by == CFO


async def test_a_signature_is_for_one_card(boss: MissionClient) -> None:
    """What was signed for one mission's card is nothing to another's that looks the same."""
    (first, card), (second, other) = await asyncio.gather(asked(boss), asked(boss))
    decision = by(SERVICE, card, ANN)
    replayed = decision.model_copy(
        update={"confirmation_id": other.confirmation_id, "digest": other.digest}
    )
    with pytest.raises(errors.SignatureRefused, match="is for another"):
        await boss.decide(replayed)
    await boss.decide(decision)
    await second.cancel()

    assert (await first.result()).status is MissionStatus.SUCCEEDED
    assert (await second.result()).status is MissionStatus.CANCELLED


async def test_two_others_than_who_asked_have_to_approve(
    boss: MissionClient, command: Cli, folder: Path
) -> None:
    """A mission's own policy adds to the worker's; each refusal says why."""
    two = MissionPolicy(confirmation=ConfirmationPolicy(two_approvers=(TwoApprovers(),)))
    mission, card = await asked(boss, requester=ANN, policy=two)
    with raises_code("ApproverRefused"):
        await boss.decide(by(SERVICE, card, ANN))
    with raises_code("ApproverRefused"):
        await boss.decide(by(SERVICE, card, "eve@example.com"))
    approve = ("confirm", "approve", card.confirmation_id, "--digest", card.digest)
    first = await command(*approve, "--key", str(folder / "cfo.jwk"))
    shown = await command("confirm", "show", card.confirmation_id)
    with raises_code("ApproverRefused"):
        await boss.decide(by(SERVICE, card, CFO))
    await boss.decide(by(SERVICE, card, "bob@finance.example.com"))
    result = await mission.result()

    assert "another person has to approve it too" in first.stdout
    assert f"Approved by {CFO}" in " ".join(shown.stdout.split())
    assert [d.approver for d in result.legs[0].decisions] == [CFO, "bob@finance.example.com"]
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_standing_approval_of_the_worker_asks_nobody(
    boss: MissionClient, governed: Stack
) -> None:
    """Where the mission has it too; its record names the policy that approved the call."""
    own = StandingApproval(name="messages", tools=("message_send",))
    request = MissionRequest(
        goal=MESSAGE,
        requester=ZOE,
        policy=MissionPolicy(confirmation=ConfirmationPolicy(standing=(own,))),
    )
    mission = await boss.start(request)
    result = await mission.result()
    (leg,) = result.legs

    assert [(d.kind, d.approver) for d in leg.decisions] == [("approved", "policy:messages")]
    async with SandboxClient(governed.sandbox_url) as sandbox:
        assert len(await sandbox.live(mission.mission_id)) == 1


async def test_a_policy_that_is_wider_starts_nothing(
    boss: MissionClient, command: Cli, folder: Path
) -> None:
    """Told by a client that knows the worker's, and by the worker where its client does not."""
    wide = folder / "wide.yaml"
    rule = "{name: all, tools: ['*'], total: {amount: 5, currency: EUR}}"
    wide.write_text(f"confirmation: {{standing: [{rule}]}}")
    start = ("mission", "start", ALERTS, "--id", "wide", "--policy", str(wide))
    told = await command(*start, ORCHESTRATOR_MISSION_POLICY=str(folder / "policy.yaml"))
    shown = await command("mission", "show", "wide")
    free = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
    request = MissionRequest(
        goal=ALERTS, requester=ZOE, policy=MissionPolicy(confirmation=free), mission_id="wider"
    )
    nobodys = MissionRequest(goal=ALERTS, mission_id="nobodys")
    refused = [await run_to_end(await boss.start(one)) for one in (request, nobodys)]

    assert told.exit_code == 2
    assert "the standing approval all approves more" in str(refused[0].error)
    assert "say who asks" in str(refused[1].error)
    assert "may only tighten the worker's" in told.stderr
    assert told.stderr.count("\n") == 1
    assert shown.exit_code == 2
    assert (await boss.get("wider").snapshot()).legs == ()
