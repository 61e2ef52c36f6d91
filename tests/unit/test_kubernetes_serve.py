"""The manifests of the inbox under deploy/kubernetes/serve: by Kubernetes' schemas and the code."""

import re
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import yaml

from orchestrator.proxy.server import _GRACE_S
from orchestrator.settings import Settings

_FOLDER: Final = Path(__file__).parents[2] / "deploy/kubernetes/serve"
_KUSTOMIZATION: Final[dict[str, Any]] = yaml.safe_load(
    (_FOLDER / "kustomization.yaml").read_text(encoding="utf-8")
)
_RESOURCES: Final[dict[str, dict[str, Any]]] = {
    name: yaml.safe_load((_FOLDER / name).read_text(encoding="utf-8"))
    for name in _KUSTOMIZATION["resources"]
}
_OURS: Final = {"app.kubernetes.io/name": "orchestrator", "app.kubernetes.io/component": "serve"}
_DEPLOYMENT: Final = _RESOURCES["deployment.yaml"]["spec"]
_POD: Final = _DEPLOYMENT["template"]["spec"]
(_CONTAINER,) = _POD["containers"]
(_GENERATED,) = _KUSTOMIZATION["configMapGenerator"]
_SETTINGS: Final = dict(line.split("=", 1) for line in _GENERATED["literals"])


def test_manifests_obey_the_schema_and_every_file_is_used() -> None:
    """Strictly: a key that Kubernetes does not know is refused."""
    there = {file.name for file in _FOLDER.iterdir()} - {"kustomization.yaml"}

    assert there == set(_RESOURCES)
    for resource in _RESOURCES.values():
        kubernetes_validate.validate(resource, "1.33", strict=True)


def test_no_selector_reaches_another_pod() -> None:
    (spread,) = _POD["topologySpreadConstraints"]
    selectors = [
        _DEPLOYMENT["selector"]["matchLabels"],
        _DEPLOYMENT["template"]["metadata"]["labels"],
        _RESOURCES["service.yaml"]["spec"]["selector"],
        _RESOURCES["disruption-budget.yaml"]["spec"]["selector"]["matchLabels"],
        spread["labelSelector"]["matchLabels"],
    ]

    assert selectors == [_OURS] * 5
    assert _POD["serviceAccountName"] == _RESOURCES["service-account.yaml"]["metadata"]["name"]


def test_probes_and_service_ask_the_port_that_it_listens_on() -> None:
    """A process that has lost Temporal or the store gets no requests, and is not killed."""
    (port,) = _CONTAINER["ports"]
    (served,) = _RESOURCES["service.yaml"]["spec"]["ports"]
    probes = {n: _CONTAINER[f"{n}Probe"]["httpGet"] for n in ("startup", "liveness", "readiness")}

    assert f"--listen=0.0.0.0:{port['containerPort']}" in _CONTAINER["args"]
    assert served["targetPort"] == port["name"]
    assert {n: one["path"] for n, one in probes.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {one["port"] for one in probes.values()} == {port["name"]}
    assert _POD["terminationGracePeriodSeconds"] > _GRACE_S


def test_its_variables_are_settings_and_secrets_come_by_files() -> None:
    """A setting of ours, or a credential in the secret that is mounted."""
    known = {f"ORCHESTRATOR_{field}".upper() for field in Settings.model_fields}
    known |= {"TEMPORAL_CONFIG_FILE", "ORCHESTRATOR_SECRET_SERVE__SESSION_KEY_FILE"}

    assert _SETTINGS.keys() <= known
    for name, value in _SETTINGS.items():
        if re.search(r"SECRET|KEY|STORE|CONFIG_FILE", name):
            assert value.startswith("/run/secrets/orchestrator/")


def test_every_path_lies_in_a_mount() -> None:
    """Writable are the state and the temporary folder alone."""
    mounts = {m["mountPath"]: m for m in _CONTAINER["volumeMounts"]}
    paths = [value for value in _SETTINGS.values() if value.startswith("/")]
    writable = {path for path, mount in mounts.items() if not mount.get("readOnly")}

    assert all(any(Path(p).is_relative_to(mount) for mount in mounts) for p in paths)
    assert writable == {_SETTINGS["ORCHESTRATOR_STATE_DIR"], "/tmp"}
    assert {m["name"] for m in mounts.values()} == {v["name"] for v in _POD["volumes"]}


def test_the_pod_has_no_privilege() -> None:
    """The restricted profile of Kubernetes, as the workers have it."""
    base = yaml.safe_load((_FOLDER.parent / "base/worker.yaml").read_text(encoding="utf-8"))
    worker = base["spec"]["template"]["spec"]

    assert _POD["securityContext"] == worker["securityContext"]
    assert _CONTAINER["securityContext"] == worker["containers"][0]["securityContext"]
    assert _POD["automountServiceAccountToken"] is False
