"""`orchestrator notices ...`: announcements of cards and questions by webhooks and Slack."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.asking import ask
from orchestrator.cli.options import new_app, read_since
from orchestrator.cli.output import AsJson, present, run
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from datetime import datetime

    from rich.console import Console

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.notice_replays import NoticeList, Replayed
    from orchestrator.messages.notice import DeliveryReport

app = new_app(no_args_is_help=True)
Since = Annotated[
    str | None,
    typer.Option("--since", help="How far back (30m, 24h, 7d), or a time: 2026-12-01."),
]


@app.callback()
def notices() -> None:
    """Announcements of cards: how they stand, sent again, and tests."""


@app.command("list")
def list_notices(
    state: Annotated[
        Literal["waiting", "delivered", "skipped", "failed"] | None,
        typer.Option(help="Only notices in this state."),
    ] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List notices by channel, the newest first, with the last error of each.

    Example: orchestrator notices list --state failed
    """

    async def listed() -> "NoticeList":
        from orchestrator.client.notice_replays import notice_list
        from orchestrator.client.stores import store_of
        from orchestrator.settings import load_settings

        async with store_of(load_settings()) as store:
            return await notice_list(store, state=state, since=_moment(since), most=limit)

    present(run(listed()), _draw_list, as_json=as_json)


@app.command()
def replay(
    notice_ids: Annotated[list[str] | None, typer.Argument(help="Ids of notices.")] = None,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """Send notices again, with the ids that they had; receivers drop those that they know.

    Example: orchestrator notices replay --since 24h
    """
    if bool(notice_ids) == bool(since):
        raise UsageError("name notices by their ids, or give --since")
    moment = _moment(since)

    async def sent(client: "MissionClient") -> "Replayed":
        from orchestrator.client import notice_replays as notices
        from orchestrator.client.stores import store_of
        from orchestrator.settings import load_settings

        if moment is None:
            return await notices.replay(client.connection, notice_ids or [])
        async with store_of(load_settings()) as store:
            return await notices.replay_since(client.connection, store, moment)

    done = ask(sent)
    present(done, _draw_replayed, as_json=as_json, ok=not done.gone)


@app.command()
def test(
    channel: Annotated[str, typer.Argument(help="Its name in the file of ORCHESTRATOR_NOTICES.")],
    as_json: AsJson = False,
) -> None:
    """Have a worker send a test notice to a channel; success enables a disabled one.

    Example: orchestrator notices test ops
    """

    async def tried(client: "MissionClient") -> "DeliveryReport":
        from orchestrator.client.notice_replays import try_channel

        return await try_channel(client.connection, channel)

    report = ask(tried, notes_silence=True)
    present(report, _draw_report, as_json=as_json, ok=report.state == "delivered")


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
