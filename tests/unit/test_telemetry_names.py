"""The table of names: in the docs as it is printed, and no dashboard asks for another name."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from orchestrator.adapters.telemetry.conventions import MEASUREMENTS
from orchestrator.adapters.telemetry.exporting import PrometheusText
from orchestrator.adapters.telemetry.instruments import Telemetry

_ROOT = Path(__file__).parents[2]
_DASHBOARD = _ROOT / "deploy" / "telemetry" / "dashboards" / "missions.json"
_SERIES = re.compile(r"\b((?:orchestrator|http_client|gen_ai_client)_[a-z_]+)(?=[\[{)]| *$)")
_LABELS = re.compile(r"by \(([^)]*)\)|\{([^}]*)\}")
_SDK_LABELS = {"task_queue", "worker_type", "workflow_type", "failure_reason", "operation"}


def test_names_are_told_once() -> None:
    names = [one.name for one in MEASUREMENTS]

    assert len(names) == len(set(names))


def _expressions() -> list[str]:
    panels = json.loads(_DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def _exposed() -> set[str]:
    """Every name under which Prometheus would have one of the table."""
    text = PrometheusText()
    meter = MeterProvider([text.reader]).get_meter("all")
    for one in MEASUREMENTS:
        if one.kind == "counter":
            meter.create_counter(one.name, unit=one.unit).add(1)
        elif one.kind == "histogram":
            meter.create_histogram(one.name, unit=one.unit).record(1)
        else:
            meter.create_gauge(one.name, unit=one.unit).set(1)
    body = text.now()[0].decode()
    return {line.split("{")[0].split(" ")[0] for line in body.splitlines() if line[:1] != "#"}


def test_the_dashboard_asks_for_what_is_told_and_groups_by_what_there_is() -> None:
    series = [re.sub(r"by \([^)]*\)", "", expression) for expression in _expressions()]
    asked = {name for expression in series for name in _SERIES.findall(expression)}

    assert len(asked) >= 12
    assert asked <= _exposed()
    attributes = {name.replace(".", "_") for one in MEASUREMENTS for name in one.attributes}
    found = [a or b for expression in _expressions() for a, b in _LABELS.findall(expression)]
    labels = {re.split("[=!]", part)[0].strip() for text in found for part in text.split(",")}
    assert labels <= attributes | _SDK_LABELS | {"le", "status_code"}


def test_every_instrument_of_the_activities_is_in_the_table() -> None:
    text = PrometheusText()
    meter = MeterProvider([text.reader]).get_meter("activities")
    made = vars(Telemetry.on(TracerProvider().get_tracer("t"), meter))
    names = {instrument.name for name, instrument in made.items() if name != "tracer"}

    assert names <= {one.name for one in MEASUREMENTS}


def test_the_collector_sends_on_what_it_takes() -> None:
    """Its pipelines name only parts that there are, and lead to the viewer of the same profile."""
    folder = _ROOT / "deploy" / "telemetry"
    collector = yaml.safe_load((folder / "collector.yaml").read_text())
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]

    for pipeline in collector["service"]["pipelines"].values():
        for part in ("receivers", "processors", "exporters"):
            assert set(pipeline[part]) <= collector[part].keys()
    host = urlsplit(collector["exporters"]["otlphttp"]["endpoint"]).hostname
    assert {service["profiles"][0] for service in services.values()} == {"telemetry"}
    assert host in services
    files = [volume.split(":")[0] for one in services.values() for volume in one["volumes"]]
    assert all((folder / name).exists() for name in files if name.startswith("."))
