"""What people do in the inbox, with a mouse, a keyboard or a phone."""

import asyncio
from pathlib import Path

from playwright.async_api import Page, expect

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionStatus
from orchestrator.runtime.demo import TRIP
from orchestrator.sandbox import SandboxClient
from orchestrator.testing import eventually
from tests.browser import scenes
from tests.browser.conftest import OpenPage


async def press(page: Page, name: str) -> None:
    """Press the button of that name."""
    await page.get_by_role("button", name=name, exact=False).first.click()


async def take(
    page: Page, pictures: Path | None, name: str, *, height: int = 900, top: str = ""
) -> None:
    """Take a picture for the documentation, if pictures are wanted; from a heading on."""
    if pictures is None:
        return
    await page.set_viewport_size({"width": 820, "height": height})
    await page.evaluate("scrollTo(0, 0)")
    if top:
        heading = page.get_by_role("heading", name=top, exact=True)
        await heading.evaluate("(one) => one.scrollIntoView()")
    await page.screenshot(path=pictures / f"{name}.png")
    await page.set_viewport_size({"width": 1000, "height": 900})


async def test_a_trip_from_its_goal_to_its_rollback(
    client: MissionClient, sandbox: SandboxClient, open_page: OpenPage, pictures: Path | None
) -> None:
    """A person starts it, amends a card, approves two at once, rejects one, watches the rollback.

    No page is loaded again by hand: lists and cards change as the mission does.
    """
    inbox = await open_page("/")
    page = await open_page("/start")
    await page.get_by_label("Goal").fill(TRIP)
    await page.get_by_label("Budget").fill("900")
    await press(page, "Show the plan")
    await expect(page.get_by_role("heading", name="What would be done")).to_be_visible()
    await press(page, "Start it")
    await page.wait_for_url("**/missions/*")
    mission = client.get(page.url.rsplit("/", 1)[1])

    boxes = inbox.locator(f"li[id^='entry-{mission.mission_id}'] input")
    await expect(boxes).to_have_count(2)
    await take(inbox, pictures, "inbox", height=560)
    hotel = await open_page(f"/cards/{mission.mission_id}.2-hotels.2")
    await take(hotel, pictures, "inbox-card", height=1100)
    await hotel.get_by_text("Amend: change the inputs").click()
    await hotel.get_by_label("arrival time").fill("21:30")
    await press(hotel, "Change the card")
    await expect(hotel.get_by_text("The card was changed")).to_be_visible()

    await expect(boxes).to_have_count(2)
    for box in await boxes.all():
        await box.check()
    await press(inbox, "Review the chosen cards")
    await expect(inbox.get_by_role("heading", level=2)).to_have_count(2)
    await press(inbox, "Approve the chosen cards")
    await expect(inbox.get_by_text("2 cards approved")).to_be_visible()

    expense = inbox.get_by_role("link", name="expense")
    await expense.click()
    await inbox.get_by_text("Reject", exact=True).first.click()
    await inbox.get_by_label("Roll back").check()
    await inbox.get_by_label("Reason").fill("the trip is off")
    await inbox.get_by_role("button", name="Reject").click()
    await inbox.wait_for_url("**/missions/*")
    await expect(page.locator("h1 + .facts .status")).to_have_text("rolled back", timeout=60_000)
    await expect(inbox.locator("h1 + .facts .status")).to_have_text("rolled back")
    await take(page, pictures, "inbox-mission", height=760, top="Plan")
    await page.get_by_role("link", name="See its rollback").click()
    await expect(page.locator("ol .status")).to_have_text(["cancelled", "cancelled"])
    await take(page, pictures, "inbox-rollback", height=640)

    result = await mission.snapshot()
    assert result.status is MissionStatus.ROLLED_BACK
    assert await sandbox.live(mission.mission_id) == []


async def test_a_held_mission_is_repaired(
    client: MissionClient, sandbox: SandboxClient, open_page: OpenPage
) -> None:
    """What stands is listed; a changed argument, and it goes on to its success."""
    mission = await scenes.held(client, sandbox)
    page = await open_page(await scenes.one_question(mission))
    await expect(page.get_by_role("heading", name="What stands", exact=True)).to_be_visible()
    await page.get_by_text("Change the failed call").click()
    await page.locator("[name='argument.text']").fill("Dinner is at eight.")
    await press(page, "Repair and go on")
    await page.wait_for_url("**/missions/*")
    await page.locator("a[href^='/cards/']").click()
    await press(page, "Approve")
    result = await mission.result()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.holds[0].by == "ana@example.com"


async def test_a_parked_obligation_is_resolved(
    client: MissionClient, sandbox: SandboxClient, open_page: OpenPage
) -> None:
    """An operator says how it was cancelled, and the list loses it."""
    mission = await scenes.parked(client, sandbox)
    page = await open_page("/parked")
    section = page.locator("section", has_text=mission.mission_id)
    await section.get_by_label("Note").fill("cancelled by telephone")
    await section.get_by_role("button", name="It is cancelled").click()
    await page.wait_for_url("**/rollback")

    await expect(page.get_by_text("cancelled by telephone").first).to_be_visible()
    result = await eventually(lambda: _over(mission))
    assert result


async def _over(mission: object) -> bool:
    result = await mission.snapshot()  # type: ignore[attr-defined]
    return bool(result.status is MissionStatus.ROLLED_BACK)


async def test_two_people_decide_at_once(client: MissionClient, open_page: OpenPage) -> None:
    """One decision counts; the other person is told whose it was."""
    mission = await scenes.waits(client)
    address = await scenes.one_card(mission)
    pages = [await open_page(address, person=f"{name}@example.com") for name in ("ana", "bo")]
    await asyncio.gather(*(press(page, "Approve") for page in pages))
    result = await mission.result()
    (decided,) = result.legs[0].decisions

    for page in pages:
        await expect(page.get_by_text(f"Approved by {decided.approver}")).to_be_visible()


async def test_a_card_that_changes_under_a_reader_cannot_be_approved(
    client: MissionClient, open_page: OpenPage
) -> None:
    """The open page says that it changed; its buttons do nothing any more."""
    mission = await scenes.waits(client)
    page = await open_page(await scenes.one_card(mission))
    (card,) = await mission.confirmations()
    await mission.amend(card, {"special_request": "by the window"}, approver="bo@example.com")

    await expect(page.get_by_text("This card changed")).to_be_visible()
    await expect(page.get_by_role("button", name="Approve").first).to_be_disabled()
    await page.get_by_role("link", name="Read it again").click()
    await expect(page.get_by_text("by the window").first).to_be_visible()
    await mission.cancel()


async def test_an_open_inbox_hears_of_a_card_in_time(
    client: MissionClient, open_page: OpenPage
) -> None:
    """It appears, and what somebody else decided goes; a chosen box stays chosen."""
    first = await scenes.waits(client)
    page = await open_page("/")
    box = page.locator(f"[id='entry-{first.mission_id}.1-dining.2'] input")
    await box.check()
    second = await scenes.waits(client)
    entry = page.locator(f"li[id^='entry-{second.mission_id}']")
    await expect(entry).to_be_visible()
    await expect(box).to_be_checked()
    await second.cancel()
    await expect(entry).to_have_count(0)
    await first.cancel()


async def test_all_by_keyboard(client: MissionClient, open_page: OpenPage) -> None:
    """From the skip link to the approval: Tab, Space and Enter alone, with a visible focus."""
    mission = await scenes.waits(client)
    page = await open_page("/")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    await page.keyboard.press("Enter")
    wanted = f"/cards/{mission.mission_id}"
    for _ in range(200):
        await page.keyboard.press("Tab")
        focused = str(await page.evaluate("document.activeElement.getAttribute('href')"))
        if focused.startswith(wanted):
            break
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**{wanted}*")
    for _ in range(60):
        await page.keyboard.press("Tab")
        if "Approve" in str(await page.evaluate("document.activeElement.textContent")):
            break
    await page.keyboard.press("Enter")
    result = await mission.result()

    assert outline == "solid"
    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].decisions[0].approver == "ana@example.com"


async def test_a_phone_without_scripts(client: MissionClient, open_page: OpenPage) -> None:
    """Every form works without JavaScript, and no page is wider than the screen."""
    mission = await scenes.waits(client)
    page = await open_page("/", width=360, scripts=False)
    await page.locator(f"a[href^='/cards/{mission.mission_id}']").click()
    await press(page, "Approve")
    result = await mission.result()
    await page.goto(page.url)

    assert result.status is MissionStatus.SUCCEEDED
    await expect(page.get_by_text("Approved by ana@example.com")).to_be_visible()
