"""What is settled before a person is asked: whose values a call carries, and that it can leave."""

import copy
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.pii import Handle, handles_within
from orchestrator.core.record import JsonObject
from orchestrator.messages.rollback import CompensateInput
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import MemoryGrants, MemoryPii, MemorySecrets
from tests.unit.activities.environments import of_mission, of_rollback

TEXT = {"type": "string"}
ARGUMENTS: JsonObject = {
    "traveler_id": "pii:traveler_id",
    "contact": {"phones": ["pii:phone"]},
    "note": "ask for pii:traveler_id.",
}


def document(server: str = "http://127.0.0.1:9", **more: Any) -> JsonObject:
    properties = {
        "traveler_id": TEXT,
        "phone": TEXT,
        "note": TEXT,
        "contact": {"type": "object", "properties": {"phones": {"type": "array", "items": TEXT}}},
    }
    book = {
        "operationId": "book_flight",
        "summary": "Book a flight.",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": "structured-itinerary",
        "x-orchet-pii-required": ["traveler_id", "phone"],
        "requestBody": {
            "content": {
                "application/json": {"schema": {"type": "object", "properties": properties}}
            }
        },
        "responses": {"200": {"description": "done"}},
    }
    return cast(
        JsonObject,
        {
            "openapi": "3.1.0",
            "info": {"title": "Flights", "version": "1"},
            "servers": [{"url": server}],
            "paths": {"/book": {"post": book}},
            **more,
        },
    )


SECURED: dict[str, Any] = {
    "security": [{"token": []}],
    "components": {
        "securitySchemes": {
            "token": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}},
            }
        }
    },
}


async def prepared(
    store: CatalogStore,
    vault: MemoryPii,
    arguments: JsonObject = ARGUMENTS,
    *,
    brought: Mapping[str, Handle] = {},
    secrets: Mapping[str, str] = {},
    described: JsonObject | None = None,
    mission_id: str = "m",
    only_hosts: Sequence[str] = (),
) -> PreparedCall:
    catalog = Catalog.from_documents({"flights": described or document()})
    store.put(catalog)
    async with ToolClient(
        secrets=MemorySecrets(secrets),
        pii=vault,
        allowed_private_hosts=["127.0.0.1"],
        only_hosts=only_hosts,
    ) as tools:
        wanted = PrepareInput(
            call_id=f"{mission_id}.l.1",
            mission_id=mission_id,
            leg_id="l",
            tool="book_flight",
            arguments=arguments,
            catalog_digest=catalog.digest,
            now=datetime(2026, 11, 21, tzinfo=UTC),
            brought=tuple(str(handle) for handle in brought.values()),
        )
        return await of_mission(mission_id).run(
            PrepareActivities(store, tools).prepare_call,
            wanted,
        )


async def invoked(store: CatalogStore, vault: MemoryPii, call: ToolCall) -> ToolOutcome:
    """The call sent, which needs no approval here."""
    catalog = store.get(call.catalog_digest)
    free = catalog.tool(call.tool).model_copy(update={"card_type": None})
    async with ToolClient(
        secrets=MemorySecrets(), pii=vault, allowed_private_hosts=["127.0.0.1"]
    ) as tools:
        changed = Catalog(catalog.documents, {free.name: free})
        store.put(changed)
        activities = ToolActivities(store, tools, MemoryGrants())
        sent = call.model_copy(update={"catalog_digest": changed.digest})
        return await of_mission(call.mission_id).run(activities.invoke_tool, sent)


def versions(call: PreparedCall) -> dict[str, str | None]:
    """Which value of each field a prepared call means; every handle of a field means the same."""
    assert call.call is not None, call
    found = handles_within(call.call.arguments, {"traveler_id", "phone"})
    assert len(found) == 2
    return {handle.field: handle.version for handle in found}


async def test_every_handle_of_a_prepared_call_means_one_value(store: CatalogStore) -> None:
    """Alone, nested, in a list or inside of text."""
    vault = MemoryPii({"traveler_id": "ALICE", "phone": "+4930"})

    call = await prepared(store, vault)

    handles = {field: vault.current(field) for field in ("traveler_id", "phone")}
    assert versions(call) == {f: h.version for f, h in handles.items() if h is not None}


async def test_another_persons_value_is_another_call(store: CatalogStore) -> None:
    """Its digest differs, so the approval of the first does not hold for it."""
    vault = MemoryPii({"traveler_id": "ALICE", "phone": "+4930"})
    first = await prepared(store, vault)
    again = await prepared(store, vault)
    vault.put("phone", "+4940")
    nested = await prepared(store, vault)
    vault.put("traveler_id", "BOB")
    other = await prepared(store, vault)
    vault.put("phone", "+4930")
    vault.put("traveler_id", "ALICE")
    back = await prepared(store, vault)

    cards = [call.card for call in (first, again, nested, other, back)]
    digests = [card.digest for card in cards if card is not None]
    assert digests[0] == digests[1] == digests[4]
    assert len(set(digests)) == 3
    assert not any("ALICE" in call.model_dump_json() for call in (first, nested, other))


async def test_what_a_mission_brought_comes_before_what_the_owner_has(store: CatalogStore) -> None:
    """And only where it brought it."""
    vault = MemoryPii({"traveler_id": "OWNER", "phone": "+4930"})
    brought = vault.brought("m", {"traveler_id": "ALICE"})

    call = versions(await prepared(store, vault, brought=brought))
    phone = vault.current("phone")

    assert phone is not None
    assert call == {"traveler_id": brought["traveler_id"].version, "phone": phone.version}


MOVED = {"mission_id": "m", "call_id": "m.l.1"}
"""Of a call: as if the mission m had made it."""


async def test_a_value_of_another_mission_is_refused(store: CatalogStore) -> None:
    """When it is prepared, and again when it is sent."""
    vault = MemoryPii()
    leaked = vault.brought("other", {"traveler_id": "BOB-2222"})["traveler_id"]
    arguments: JsonObject = {"traveler_id": str(leaked)}

    call = await prepared(store, vault, arguments)
    as_its_own = await prepared(store, vault, arguments, mission_id="other")
    assert as_its_own.call is not None
    sent = await invoked(store, vault, as_its_own.call.model_copy(update=MOVED))

    with pytest.raises(ApplicationError, match="the connection was refused"):
        await invoked(store, vault, as_its_own.call)  # it is on its way with its own value
    assert call.call is None
    assert "another mission was started with" in call.problems[0]
    assert (sent.kind, sent.status) == ("rejected", None)
    assert "another mission was started with" in (sent.reason or "")


async def test_a_side_effect_whose_value_is_not_settled_is_not_sent(store: CatalogStore) -> None:
    """The newest value is never what was approved by chance."""
    vault = MemoryPii({"traveler_id": "ALICE", "phone": "+4930"})
    call = (await prepared(store, vault)).call
    assert call is not None

    sent = await invoked(store, vault, call.model_copy(update={"arguments": ARGUMENTS}))

    assert sent.kind == "rejected"
    assert "not settled" in (sent.reason or "")


async def test_values_that_are_gone_are_told_and_not_replaced(store: CatalogStore) -> None:
    """A mission's own was purged: the owner's is another person's, and is not taken."""
    vault = MemoryPii({"traveler_id": "OWNER"})
    brought = vault.brought("m", {"traveler_id": "ALICE"})
    arguments: JsonObject = {"traveler_id": "pii:traveler_id"}
    call = (await prepared(store, vault, arguments, brought=brought)).call
    vault.purge("m")

    later = await prepared(store, vault, arguments, brought=brought)
    assert call is not None
    sent = await invoked(store, vault, call)

    assert later.call is None
    assert "no longer holds the value of traveler_id" in later.obstacles[0]
    assert "no longer holds the value of traveler_id" in (sent.reason or "")


async def test_fields_that_the_vault_lacks_are_named_instead_of_a_call(store: CatalogStore) -> None:
    """Wherever their handles stand; those that it holds are not."""
    lacking = await prepared(store, MemoryPii({"phone": "+4930"}))

    assert lacking.missing_personal == ("traveler_id",)
    assert (lacking.call, lacking.problems) == (None, ())


async def test_fields_that_no_argument_uses_are_not_missed(store: CatalogStore) -> None:
    """A call without handles needs no vault."""
    call = await prepared(store, MemoryPii(), {"note": "12A"})

    assert call.missing_personal == ()
    assert call.call is not None


async def test_a_missing_credential_is_found_before_the_card(store: CatalogStore) -> None:
    """Of OAuth the client's key is enough; with it nothing is missing."""
    secured = document(**SECURED)
    without = await prepared(store, MemoryPii(), {}, described=secured)
    key = {"flights__token__client_id": "a", "flights__token__client_secret": "b"}
    with_key = await prepared(store, MemoryPii(), {}, described=secured, secrets=key)

    assert without.card is None
    assert "flights__token" in without.obstacles[0]
    assert with_key.card is not None


@pytest.mark.parametrize(
    ("server", "obstacle"),
    [
        ("http://169.254.169.254", "link-local"),
        ("http://localhost:9", "loopback"),
        ("http://{region}.example.com", "ORCHESTRATOR_SERVER_VARIABLES"),
    ],
)
async def test_a_host_that_may_not_be_called_is_found_before_the_card(
    store: CatalogStore, server: str, obstacle: str
) -> None:
    """The sentence says what to configure."""
    call = await prepared(store, MemoryPii(), {}, described=document(server))

    assert call.card is None
    assert obstacle in call.obstacles[0]


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
    secured = document(**copy.deepcopy(SECURED))
    schemes = cast(Any, secured)["components"]["securitySchemes"]
    token_url = "https://login.example.com/token"
    schemes["token"]["flows"]["clientCredentials"]["tokenUrl"] = token_url
    key = {"flights__token__client_id": "a", "flights__token__client_secret": "b"}

    call = await prepared(
        store, MemoryPii(), {}, described=secured, secrets=key, only_hosts=["127.0.0.1:9"]
    )

    assert call.card is None
    assert "login.example.com:443" in call.obstacles[0]


async def test_a_host_that_does_not_resolve_is_no_obstacle(store: CatalogStore) -> None:
    """It may when the call is sent."""
    call = await prepared(store, MemoryPii(), {}, described=document("http://nowhere.invalid"))

    assert call.card is not None


async def test_a_rollback_whose_values_were_purged_is_parked_and_says_so(
    store: CatalogStore,
) -> None:
    """It is not carried out with somebody else's."""
    described = document()
    paths = cast(Any, described)["paths"]
    paths["/book"]["post"]["x-orchet-cancels"] = "cancel_flight"
    paths["/book"]["post"]["x-orchet-compensation-args"] = {
        "traveler_id": "$request.body#/traveler_id"
    }
    paths["/cancel"] = {
        "post": {
            "operationId": "cancel_flight",
            "summary": "Cancel a flight.",
            "x-orchet-tool": True,
            "x-orchet-requires-confirmation": False,
            "x-orchet-cancel-for": "book_flight",
            "requestBody": {
                "content": {
                    "application/json": {
                        "schema": {"type": "object", "properties": {"traveler_id": TEXT}}
                    }
                }
            },
            "responses": {"200": {"description": "done"}},
        }
    }
    vault = MemoryPii({"traveler_id": "OWNER"})
    brought = vault.brought("m", {"traveler_id": "ALICE"})
    arguments: JsonObject = {"traveler_id": "pii:traveler_id"}
    obligation = (
        await prepared(store, vault, arguments, brought=brought, described=described)
    ).obligation
    assert obligation is not None
    committed = obligation.model_copy(update={"state": ObligationState.COMMITTED})

    async def compensated() -> CompensationOutcome:
        async with ToolClient(
            secrets=MemorySecrets(), pii=vault, allowed_private_hosts=["127.0.0.1"]
        ) as tools:
            environment = of_rollback()
            return await environment.run(
                RollbackActivities(store, tools, cast(Client, None), MemoryGrants()).compensate,
                CompensateInput(obligation=committed),
            )

    with pytest.raises(ApplicationError, match="the connection was refused"):
        await compensated()  # it is on its way with its own value
    vault.purge("m")
    outcome = await compensated()

    assert outcome.state == "parked"
    assert "no longer holds the value of traveler_id" in outcome.note
