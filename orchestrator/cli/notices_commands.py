"""`orchestrator confirm notices`: announcements of cards and questions by webhooks and Slack."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import read_since
from orchestrator.cli.output import AsJson, ask, present, run
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from datetime import datetime

    from rich.console import Console

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.notice_replays import NoticeList, Replayed
    from orchestrator.messages.notice import DeliveryReport

State = Literal["waiting", "delivered", "skipped", "failed"]


def notices(
    notice_ids: Annotated[
        list[str] | None, typer.Argument(metavar="NID...", help="With --replay: ids of notices.")
    ] = None,
    state: Annotated[
        State | None,
        typer.Option(help="List only notices in this state."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="The age of the oldest (30m, 24h, 7d), or a time: 2026-12-01."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="List at most so many.")] = 100,
    replay: Annotated[
        bool, typer.Option("--replay", help="Send those named, or those of --since, again.")
    ] = False,
    channel: Annotated[
        str | None,
        typer.Option("--test", metavar="CHANNEL", help="Have a worker send it a test notice."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List notices of cards; send them again, or test a channel.

    A notice that is sent again has its id, and receivers drop those that they know. A channel of
    the file of ORCHESTRATOR_NOTICES that was disabled is enabled by a test that succeeds.

    Example: orchestrator confirm notices --state failed

    Example: orchestrator confirm notices --replay --since 24h

    Example: orchestrator confirm notices --test ops
    """
    if channel is not None and not (replay or notice_ids or state or since):
        report = ask(lambda client: _tried(client, channel), notes_silence=True)
        present(report, _draw_report, as_json=as_json, ok=report.state == "delivered")
    elif channel is not None:
        raise UsageError("--test CHANNEL takes no other option")
    elif replay:
        if bool(notice_ids) == bool(since) or state:
            raise UsageError("--replay sends the notices with these ids, or those of --since")
        done = ask(lambda client: _sent(client, notice_ids or [], _moment(since)))
        present(done, _draw_replayed, as_json=as_json, ok=not done.gone)
    elif notice_ids:
        raise UsageError("ids of notices go with --replay")
    else:
        present(run(_listed(state, _moment(since), limit)), _draw_list, as_json=as_json)


async def _listed(state: State | None, since: "datetime | None", limit: int) -> "NoticeList":
    from orchestrator.client.notice_replays import notice_list
    from orchestrator.client.stores import store_of
    from orchestrator.settings import load_settings

    async with store_of(load_settings()) as store:
        return await notice_list(store, state=state, since=since, most=limit)


async def _sent(
    client: "MissionClient", notice_ids: list[str], since: "datetime | None"
) -> "Replayed":
    from orchestrator.client import notice_replays
    from orchestrator.client.stores import store_of
    from orchestrator.settings import load_settings

    if since is None:
        return await notice_replays.replay(client.connection, notice_ids)
    async with store_of(load_settings()) as store:
        return await notice_replays.replay_since(client.connection, store, since)


async def _tried(client: "MissionClient", channel: str) -> "DeliveryReport":
    from orchestrator.client.notice_replays import try_channel

    return await try_channel(client.connection, channel)


def _moment(since: str | None) -> "datetime | None":
    from datetime import UTC, datetime

    return None if since is None else read_since(since, now=datetime.now(UTC))


def _draw_list(console: "Console", found: "NoticeList") -> None:
    from orchestrator.cli.output import line, listing

    for off in found.disabled:
        text = f"the channel {off.channel} is disabled since {off.since:%Y-%m-%d %H:%M}: {off.why}"
        console.print(line((text, "red")), soft_wrap=True)
    if not found.notices:
        console.print("no notice was delivered, and none waits")
        return
    columns = ("notice", "event", "about", "channel", "state", "attempts", "at", "last error")
    rows = [
        (
            *(one.notice_id, one.event, one.wait_id or one.mission_id, one.channel, one.state),
            *(str(one.attempts), f"{one.last_at:%Y-%m-%d %H:%M:%S}", one.error),
        )
        for one in found.notices
    ]
    listing(console, columns, rows)


def _draw_replayed(console: "Console", done: "Replayed") -> None:
    from orchestrator.core.shown_text import number_of

    console.print(f"sent again: {number_of(len(done.started), 'notice')}")
    for one in done.gone:
        console.print(f"{one}: the Temporal server no longer knows it")


def _draw_report(console: "Console", report: "DeliveryReport") -> None:
    console.print(
        f"{report.delivered_by} has taken it"
        if report.state == "delivered"
        else f"not delivered: {report.why}"
    )
