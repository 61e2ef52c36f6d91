"""What is settled before a person is asked: whose values a call carries, and that it can leave."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from temporalio.client import Client

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.pii import Handle, handles_within
from orchestrator.core.record import JsonObject
from orchestrator.messages.rollback import CompensateInput
from orchestrator.messages.tool_call import PreparedCall, ToolCall
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryGrants, MemoryPii, MemorySecrets
from tests.unit.activities.environments import of_mission, of_rollback
from tests.unit.activities.made_calls import call_of, card_of, failure_of, left_by, wanted_call

TEXT = {"type": "string"}
ARGUMENTS: JsonObject = {
    "traveler_id": "pii:traveler_id",
    "contact": {"phones": ["pii:phone"]},
    "note": "ask for pii:traveler_id.",
}


def operation(name: str, fields: Mapping[str, Any], **more: Any) -> JsonObject:
    schema = {"type": "object", "properties": fields}
    operation = {
        "operationId": name,
        "x-orchet-tool": True,
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "done"}},
        **more,
    }
    return cast(JsonObject, {"post": operation})


def document(server: str = "http://127.0.0.1:9", **more: Any) -> dict[str, Any]:
    phones = {"type": "object", "properties": {"phones": {"type": "array", "items": TEXT}}}
    book = operation(
        "book_flight",
        {"traveler_id": TEXT, "phone": TEXT, "note": TEXT, "contact": phones},
        **{
            "x-orchet-requires-confirmation": "structured-itinerary",
            "x-orchet-pii-required": ["traveler_id", "phone"],
        },
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Flights", "version": "1"},
        "servers": [{"url": server}],
        "paths": {"/book": book},
        **more,
    }


def secured(token_url: str = "/token") -> dict[str, Any]:
    """The same behind OAuth."""
    flows = {"clientCredentials": {"tokenUrl": token_url, "scopes": {}}}
    schemes = {"token": {"type": "oauth2", "flows": flows}}
    return document(security=[{"token": []}], components={"securitySchemes": schemes})


KEY = {"flights__token__client_id": "a", "flights__token__client_secret": "b"}


def tool_client(vault: MemoryPii, **more: Any) -> ToolClient:
    given = {"secrets": MemorySecrets(), "allowed_private_hosts": ["127.0.0.1"], **more}
    return ToolClient(pii=vault, **given)


async def prepared(
    store: CatalogStore,
    vault: MemoryPii,
    arguments: JsonObject = ARGUMENTS,
    *,
    brought: Mapping[str, Handle] = {},
    secrets: Mapping[str, str] = {},
    described: dict[str, Any] | None = None,
    mission_id: str = "m",
    only_hosts: Sequence[str] = (),
) -> PreparedCall:
    catalog = Catalog.from_documents({"flights": described or document()})
    store.put(catalog)
    wanted = wanted_call(
        f"{mission_id}.l.1",
        tool="book_flight",
        arguments=arguments,
        catalog_digest=catalog.digest,
        brought=tuple(str(handle) for handle in brought.values()),
    )
    async with tool_client(vault, secrets=MemorySecrets(secrets), only_hosts=only_hosts) as tools:
        activities = PrepareActivities(store, tools)
        return await of_mission(mission_id).run(activities.prepare_call, wanted)


async def invoked(store: CatalogStore, vault: MemoryPii, call: ToolCall) -> ToolOutcome:
    """The call sent, which needs no approval here."""
    catalog = store.get(call.catalog_digest)
    free = catalog.tool(call.tool).model_copy(update={"card_type": None})
    changed = Catalog(catalog.documents, {free.name: free})
    store.put(changed)
    sent = call.model_copy(update={"catalog_digest": changed.digest})
    async with tool_client(vault) as tools:
        activities = ToolActivities(store, tools, MemoryGrants())
        return await of_mission(call.mission_id).run(activities.invoke_tool, sent)


def versions(prepared: PreparedCall) -> dict[str, str | None]:
    """Which value of each field a prepared call means; every handle of a field means the same."""
    found = handles_within(call_of(prepared).arguments, {"traveler_id", "phone"})
    assert len(found) == 2
    return {handle.field: handle.version for handle in found}


async def test_every_handle_of_a_prepared_call_means_one_value(store: CatalogStore) -> None:
    """Alone, nested, in a list or inside of text; what a mission brought comes first."""
    vault = MemoryPii({"traveler_id": "OWNER", "phone": "+4930"})
    owners = versions(await prepared(store, vault))
    brought = vault.brought("m", {"traveler_id": "ALICE"})
    own = versions(await prepared(store, vault, brought=brought))

    handles = {field: vault.current(field) for field in ("traveler_id", "phone")}
    assert owners == {f: h.version for f, h in handles.items() if h is not None}
    assert own == {**owners, "traveler_id": brought["traveler_id"].version}


async def test_another_persons_value_is_another_call(store: CatalogStore) -> None:
    """Its digest differs, so the approval of the first does not hold for it."""
    vault = MemoryPii({"traveler_id": "ALICE", "phone": "+4930"})
    calls = [await prepared(store, vault), await prepared(store, vault)]
    for changes in ({"phone": "+4940"}, {"traveler_id": "BOB"}, {"phone": "+4930"}):
        for field, value in changes.items():
            vault.put(field, value)
        calls.append(await prepared(store, vault))
    vault.put("traveler_id", "ALICE")
    calls.append(await prepared(store, vault))

    first, again, nested, other, both, back = [card_of(call).digest for call in calls]
    assert first == again == back
    assert len({first, nested, other, both}) == 4
    assert not any("ALICE" in call.model_dump_json() for call in calls)


async def test_a_value_of_another_mission_is_refused(store: CatalogStore) -> None:
    """When it is prepared, and again when it is sent."""
    vault = MemoryPii()
    leaked = vault.brought("other", {"traveler_id": "BOB-2222"})["traveler_id"]
    arguments: JsonObject = {"traveler_id": str(leaked)}
    call = await prepared(store, vault, arguments)
    own = call_of(await prepared(store, vault, arguments, mission_id="other"))
    moved = own.model_copy(update={"mission_id": "m", "call_id": "m.l.1"})
    sent = await invoked(store, vault, moved)
    on_its_way = await failure_of(invoked(store, vault, own))

    assert "the connection was refused" in on_its_way.message
    assert call.call is None
    assert "another mission was started with" in call.problems[0]
    assert (sent.kind, sent.status) == ("rejected", None)
    assert "another mission was started with" in (sent.reason or "")


async def test_a_side_effect_whose_value_is_not_settled_is_not_sent(store: CatalogStore) -> None:
    """The newest value is never what was approved by chance."""
    vault = MemoryPii({"traveler_id": "ALICE", "phone": "+4930"})
    call = call_of(await prepared(store, vault))
    sent = await invoked(store, vault, call.model_copy(update={"arguments": ARGUMENTS}))

    assert sent.kind == "rejected"
    assert "not settled" in (sent.reason or "")


async def test_values_that_are_gone_are_told_and_not_replaced(store: CatalogStore) -> None:
    """A mission's own was purged: the owner's is another person's, and is not taken."""
    vault = MemoryPii({"traveler_id": "OWNER"})
    brought = vault.brought("m", {"traveler_id": "ALICE"})
    arguments: JsonObject = {"traveler_id": "pii:traveler_id"}
    call = call_of(await prepared(store, vault, arguments, brought=brought))
    vault.purge("m")
    later = await prepared(store, vault, arguments, brought=brought)
    sent = await invoked(store, vault, call)

    assert later.call is None
    for said in (later.obstacles[0], sent.reason or ""):
        assert "no longer holds the value of traveler_id" in said


async def test_fields_that_the_vault_lacks_are_named_instead_of_a_call(store: CatalogStore) -> None:
    """Wherever their handles stand; those that it holds, or that no argument uses, are not."""
    lacking = await prepared(store, MemoryPii({"phone": "+4930"}))
    unused = await prepared(store, MemoryPii(), {"note": "12A"})

    assert lacking.missing_personal == ("traveler_id",)
    assert (lacking.call, lacking.problems) == (None, ())
    assert unused.missing_personal == ()
    assert unused.call is not None


async def test_a_missing_credential_is_found_before_the_card(store: CatalogStore) -> None:
    """Of OAuth the client's key is enough; with it nothing is missing."""
    without = await prepared(store, MemoryPii(), {}, described=secured())
    with_key = await prepared(store, MemoryPii(), {}, described=secured(), secrets=KEY)

    assert without.card is None
    assert "flights__token" in without.obstacles[0]
    assert with_key.card is not None


@pytest.mark.parametrize(
    ("server", "obstacle"),
    [
        ("http://169.254.169.254", "link-local"),
        ("http://localhost:9", "loopback"),
        ("http://{region}.example.com", "ORCHESTRATOR_SERVER_VARIABLES"),
        ("http://nowhere.invalid", ""),
    ],
)
async def test_a_host_that_may_not_be_called_is_found_before_the_card(
    store: CatalogStore, server: str, obstacle: str
) -> None:
    """The sentence says what to configure; one that does not resolve may when the call is sent."""
    call = await prepared(store, MemoryPii(), {}, described=document(server))

    assert (call.card is None) is bool(obstacle)
    assert obstacle in "".join(call.obstacles)


@pytest.mark.parametrize(
    ("only", "obstacles"),
    [
        ("127.0.0.1:9", ()),
        ("127.0.0.1", ()),
        ("127.0.0.1:8", ("127.0.0.1:9",)),
        ("api.example.com", ("127.0.0.1:9",)),
    ],
)
async def test_a_host_that_this_installation_does_not_call_is_found_before_the_card(
    store: CatalogStore, only: str, obstacles: tuple[str, ...]
) -> None:
    """The port counts where it is given, as when the call is sent."""
    call = await prepared(store, MemoryPii(), {}, only_hosts=[only])

    assert (call.card is None) is bool(obstacles)
    assert len(call.obstacles) == len(obstacles)
    for found, address in zip(call.obstacles, obstacles, strict=True):
        assert f"leads to {address}, which is none of ORCHESTRATOR_ONLY_HOSTS" in found


async def test_a_token_endpoint_that_this_installation_does_not_call_is_found_before_the_card(
    store: CatalogStore,
) -> None:
    """Its host is another than the provider's."""
    described, only = secured("https://login.example.com/token"), ["127.0.0.1:9"]
    call = await prepared(store, MemoryPii(), {}, described=described, secrets=KEY, only_hosts=only)

    assert call.card is None
    assert "login.example.com:443" in call.obstacles[0]


async def test_a_rollback_whose_values_were_purged_is_parked_and_says_so(
    store: CatalogStore,
) -> None:
    """It is not carried out with somebody else's."""
    described = document()
    described["paths"]["/book"]["post"] |= {
        "x-orchet-cancels": "cancel_flight",
        "x-orchet-compensation-args": {"traveler_id": "$request.body#/traveler_id"},
    }
    cancels = {"x-orchet-requires-confirmation": False, "x-orchet-cancel-for": "book_flight"}
    described["paths"]["/cancel"] = operation("cancel_flight", {"traveler_id": TEXT}, **cancels)
    vault = MemoryPii({"traveler_id": "OWNER"})
    brought = vault.brought("m", {"traveler_id": "ALICE"})
    arguments: JsonObject = {"traveler_id": "pii:traveler_id"}
    made = left_by(await prepared(store, vault, arguments, brought=brought, described=described))
    wanted = CompensateInput(
        obligation=made.model_copy(update={"state": ObligationState.COMMITTED})
    )
    async with tool_client(vault) as tools:
        activities = RollbackActivities(store, tools, cast(Client, None), MemoryGrants())
        on_its_way = await failure_of(of_rollback().run(activities.compensate, wanted))
        vault.purge("m")
        outcome = await of_rollback().run(activities.compensate, wanted)

    assert "the connection was refused" in on_its_way.message  # it has its own value
    assert outcome.state == "parked"
    assert "no longer holds the value of traveler_id" in outcome.note
