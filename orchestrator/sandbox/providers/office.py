"""Expenses, payments, messages, calendar and files: sums, and the things every office has."""

from __future__ import annotations

import re
from datetime import timedelta

from orchestrator.sandbox.currency_amount import money, total
from orchestrator.sandbox.playbook import Draft, Playbook
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider_call import timestamp

_ITEM_LIMIT = 2000
_DAILY_LIMITS = {"flight": 800, "hotel": 220, "car": 90, "meal": 60, "delivery": 40, "other": 100}
_SUFFIXES = {"spreadsheet": "xlsx", "presentation": "pptx", "image": "png", "document": "pdf"}


def sum_report(draft: Draft) -> None:
    """The total of a report is the sum of its items, all in one currency."""
    items = draft.arguments["items"]
    currencies = sorted({item["currency"] for item in items})
    if len(currencies) > 1:
        status = draft.call.operation.refusal(422, 400)
        raise RequestRefused(
            status, f"items: one report has one currency, not {', '.join(currencies)}."
        )
    parts = [money(item["amount"], item["currency"]) for item in items]
    draft.body["total"] = total(parts).to_json()


def check_policy(draft: Draft) -> None:
    """An item over the limit is a finding, and a finding is not allowed."""
    items = enumerate(draft.arguments["items"], start=1)
    draft.items = [
        {"item_number": number, "finding_text": f"Costs more than {_ITEM_LIMIT}; ask first."}
        for number, item in items
        if item["amount"] > _ITEM_LIMIT
    ]
    draft.body["allowed"] = not draft.items


def list_categories(draft: Draft) -> None:
    """Every category once, with its limit."""
    draft.items = [
        {"category": name, "daily_limit": money(limit).to_json()}
        for name, limit in _DAILY_LIMITS.items()
    ]


def number_invoices(draft: Draft) -> None:
    """Each invoice has its own number; open ones fall due in the coming weeks."""
    for item in draft.items:
        due = draft.call.now + timedelta(days=draft.rng.randint(3, 30))
        item["invoice_number"] = f"INV-{draft.rng.randint(10000, 99999)}"
        item["due_date"] = due.date().isoformat()


def offer_free_slots(draft: Draft) -> None:
    """Different times of the day, in order."""
    times = sorted(draft.rng.sample(("09:00", "10:30", "13:00", "14:30", "16:00"), 3))
    minutes = draft.arguments.get("duration_minutes", 30)
    day = draft.arguments["date"]
    draft.items = [{"date": day, "time": time, "duration_minutes": minutes} for time in times]


def find_files(draft: Draft) -> None:
    """Files named for what was looked for, the latest first unless asked otherwise."""
    stem = "-".join(re.findall(r"\w+", draft.arguments["query"].lower())) or "file"
    for age, item in enumerate(draft.items):
        changed = draft.call.now - timedelta(days=7 * age + 1)
        suffix = _SUFFIXES.get(item["file_kind"], "txt")
        item["file_name"] = f"{stem}-{age + 1}.{suffix}"
        item["modified_at"] = timestamp(changed)
    if draft.arguments.get("sort_by") == "oldest":
        draft.items.reverse()


OFFICE = Playbook(
    behaviours={
        "expense_file_report": sum_report,
        "expense_check_policy": check_policy,
        "expense_list_categories": list_categories,
        "payment_list_invoices": number_invoices,
        "calendar_find_free_slots": offer_free_slots,
        "file_find_files": find_files,
    },
    standing={
        "channel_id": [
            {"channel_id": "chn_team", "channel_name": "team", "channel_kind": "team"},
            {"channel_id": "chn_travel", "channel_name": "travel", "channel_kind": "project"},
            {"channel_id": "chn_finance", "channel_name": "finance", "channel_kind": "project"},
            {"channel_id": "chn_general", "channel_name": "general", "channel_kind": "company"},
        ],
        "folder_id": [
            {"folder_id": "fld_travel", "folder_name": "Travel"},
            {"folder_id": "fld_reports", "folder_name": "Reports"},
            {"folder_id": "fld_invoices", "folder_name": "Invoices"},
            {"folder_id": "fld_archive", "folder_name": "Archive"},
        ],
    },
    words={
        "vendor_name": ["Papier & Co", "Nordic Hosting", "Blue Cleaning", "Office Plants"],
        "folder_name": ["Travel", "Reports", "Invoices", "Archive"],
        "text_preview": ["Summary of the last quarter, with the figures by region."],
    },
)
