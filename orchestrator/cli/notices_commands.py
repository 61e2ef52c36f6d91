"""`orchestrator confirm notices`: announcements of cards and questions by webhooks and Slack."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import read_since
from orchestrator.cli.output import AsJson, ask, present, run
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from rich.console import Console

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.notice_replays import NoticeList, Replayed

State = Literal["waiting", "delivered", "skipped", "failed"]


def notices(
    notice_ids: Annotated[
        list[str] | None, typer.Argument(metavar="NID...", help="With --replay: ids of notices.")
    ] = None,
    state: Annotated[State | None, typer.Option(help="List only notices in this state.")] = None,
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
    from orchestrator.client import notice_replays
    from orchestrator.client.stores import store_of
    from orchestrator.core.shown_text import number_of
    from orchestrator.settings import load_settings

    if channel is not None:
        if replay or notice_ids or state or since:
            raise UsageError("--test CHANNEL takes no other option")
        report = ask(
            lambda client: notice_replays.try_channel(client.connection, channel),
            notes_silence=True,
        )
        said = [f"not delivered: {report.why}"]
        if report.state == "delivered":
            said = [f"{report.delivered_by} has taken it"]
        return present(report, _lines(said), as_json=as_json, ok=report.state == "delivered")
    moment = None if since is None else read_since(since, now=datetime.now(UTC))
    if not replay:
        if notice_ids:
            raise UsageError("ids of notices go with --replay")

        async def listed() -> "NoticeList":
            async with store_of(load_settings()) as store:
                return await notice_replays.notice_list(
                    store, state=state, since=moment, most=limit
                )

        return present(run(listed()), _draw_list, as_json=as_json)
    if bool(notice_ids) == bool(since) or state:
        raise UsageError("--replay sends the notices with these ids, or those of --since")

    async def sent(client: "MissionClient") -> "Replayed":
        if moment is None:
            return await notice_replays.replay(client.connection, notice_ids or [])
        async with store_of(load_settings()) as store:
            return await notice_replays.replay_since(client.connection, store, moment)

    done = ask(sent)
    said = [f"sent again: {number_of(len(done.started), 'notice')}"]
    said += [f"{one}: the Temporal server no longer knows it" for one in done.gone]
    return present(done, _lines(said), as_json=as_json, ok=not done.gone)


def _lines(said: list[str]) -> "Callable[[Console, object], None]":
    def draw(console: "Console", _: object) -> None:
        for text in said:
            console.print(text)

    return draw


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
