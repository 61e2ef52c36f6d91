"""The manifests under deploy/kubernetes: by the schemas of Kubernetes, and against the code.

No cluster is needed. Where `kubectl` is installed, what it builds of the overlays is checked too.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from orchestrator.runtime.devserver import SANDBOX_SECRETS
from orchestrator.settings import Settings

_ROOT: Final = Path(__file__).parents[2]
_FOLDER: Final = _ROOT / "deploy/kubernetes"
_OVERLAYS: Final = ("base", "example", "build")
_KUBERNETES: Final = "1.33"
_OURS: Final = {"app.kubernetes.io/name": "orchestrator", "app.kubernetes.io/component": "worker"}


def _kustomization(overlay: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((_FOLDER / overlay / "kustomization.yaml").read_text())
    return loaded


def _resources() -> dict[str, dict[str, Any]]:
    files = [_FOLDER / "base" / name for name in _kustomization("base")["resources"]]
    loaded = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    return {one["kind"]: one for one in loaded}


_RESOURCES: Final = _resources()
_POD: Final[dict[str, Any]] = _RESOURCES["Deployment"]["spec"]["template"]
(_CONTAINER,) = _POD["spec"]["containers"]


def _literals(overlay: str) -> dict[str, str]:
    generators = _kustomization(overlay)["configMapGenerator"]
    (settings,) = [g for g in generators if g["name"] == "orchestrator-settings"]
    return dict(line.split("=", 1) for line in settings["literals"])


_SETTINGS: Final = _literals("base") | _literals("example")


def test_manifests_obey_the_schema() -> None:
    """Strictly: a key that Kubernetes does not know is refused; each file is used and there."""
    for resource in _RESOURCES.values():
        kubernetes_validate.validate(resource, _KUBERNETES, strict=True)
    misspelt = {**_RESOURCES["ServiceAccount"], "automountToken": False}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(misspelt, _KUBERNETES, strict=True)
    for overlay in _OVERLAYS:
        listed = {(_FOLDER / overlay / r).resolve() for r in _kustomization(overlay)["resources"]}
        there = {f for f in (_FOLDER / overlay).iterdir() if f.name != "kustomization.yaml"}
        assert {f for f in listed if f.is_file()} == there
        assert all(one.exists() for one in listed)


def test_no_selector_reaches_a_pod_that_is_not_a_worker() -> None:
    """An empty one would hold every pod of the namespace."""
    spec = {kind: one["spec"] for kind, one in _RESOURCES.items() if "spec" in one}
    selectors = [
        spec["Deployment"]["selector"],
        spec["PodDisruptionBudget"]["selector"],
        spec["NetworkPolicy"]["podSelector"],
        *(c["labelSelector"] for c in _POD["spec"]["topologySpreadConstraints"]),
    ]

    assert [selector["matchLabels"] for selector in selectors] == [_OURS] * 4
    assert _POD["metadata"]["labels"] == _OURS


def test_every_variable_is_read_by_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting of ours, a credential by a file, or one of the SDK; the values are valid."""
    known = {f"ORCHESTRATOR_{field}".upper() for field in Settings.model_fields}
    known |= {f"{credential}_FILE" for credential in SANDBOX_SECRETS} | {"TEMPORAL_CONFIG_FILE"}
    named = _SETTINGS.keys() | {one["name"] for one in _CONTAINER["env"]}

    assert named <= known
    for name, value in {**_SETTINGS, "ORCHESTRATOR_BUILD_ID": ""}.items():
        monkeypatch.setenv(name, value)
    assert Settings().build_id is None


def test_secrets_come_by_files_alone() -> None:
    """No value of one stands in a variable, and each file is in the secret that is mounted."""
    for name, value in _SETTINGS.items():
        if re.search(r"SECRET|KEY|TOKEN|STORE|CONFIG_FILE", name):
            assert name.endswith("_FILE")
            assert value.startswith("/run/secrets/orchestrator/")
    assert "Secret" not in _RESOURCES
    assert all("secretGenerator" not in _kustomization(overlay) for overlay in _OVERLAYS)


def test_every_path_lies_in_a_mount() -> None:
    """The documents, the state, the secrets: mounted, and writable only where something writes."""
    mounts = {m["mountPath"]: m for m in _CONTAINER["volumeMounts"]}
    for value in _SETTINGS.values():
        if value.startswith("/"):
            assert any(Path(value).is_relative_to(mount) for mount in mounts), value
    writable = {path for path, mount in mounts.items() if not mount.get("readOnly")}
    assert writable == {_SETTINGS["ORCHESTRATOR_STATE_DIR"], "/tmp"}
    volumes = {volume["name"]: volume for volume in _POD["spec"]["volumes"]}
    assert {m["name"] for m in mounts.values()} == volumes.keys()
    assert all("emptyDir" in volumes[mounts[path]["name"]] for path in writable)


def test_the_pod_has_no_privilege() -> None:
    """The restricted profile of Kubernetes, as the user of the image."""
    pod, container = _POD["spec"]["securityContext"], _CONTAINER["securityContext"]
    dockerfile = (_ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert pod["runAsNonRoot"] is True
    assert f"\nUSER {pod['runAsUser']}:{pod['runAsGroup']}\n" in dockerfile
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert _POD["spec"]["automountServiceAccountToken"] is False


def test_the_probes_ask_the_worker_at_its_own_port() -> None:
    """One that drains, or has lost Temporal, is not ready; it is not killed for that."""
    (port,) = _CONTAINER["ports"]
    probes = {name: _CONTAINER[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")}

    assert _SETTINGS["ORCHESTRATOR_HEALTH"] == f"0.0.0.0:{port['containerPort']}"
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    assert _POD["spec"]["terminationGracePeriodSeconds"] > float(_SETTINGS["ORCHESTRATOR_DRAIN"])


def test_a_build_is_called_the_same_everywhere() -> None:
    """By its label, which its workers tell Temporal, and by the names of what belongs to it."""
    build = _kustomization("build")
    ((labels),) = build["labels"]
    (told,) = _CONTAINER["env"]

    assert build["nameSuffix"] == f"-{labels['pairs']['app.kubernetes.io/version']}"
    assert labels["includeSelectors"] is True
    assert told["name"] == "ORCHESTRATOR_BUILD_ID"
    assert "app.kubernetes.io/version" in told["valueFrom"]["fieldRef"]["fieldPath"]


def _built(overlay: str) -> Iterator[dict[str, Any]]:
    command = ["kubectl", "kustomize", str(_FOLDER / overlay)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    yield from yaml.safe_load_all(finished.stdout)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl, and no cluster")
@pytest.mark.parametrize("overlay", _OVERLAYS)
def test_what_is_built_obeys_the_schema(overlay: str) -> None:
    """Each overlay over those below it; two builds select no pod of each other."""
    built = {one["kind"]: one for one in _built(overlay)}

    assert built.keys() == _RESOURCES.keys() | {"ConfigMap"}
    for one in built.values():
        kubernetes_validate.validate(one, _KUBERNETES, strict=True)
    selected = built["Deployment"]["spec"]["selector"]["matchLabels"]
    assert ("app.kubernetes.io/version" in selected) == (overlay == "build")
    assert built["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == selected
    assert built["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == selected
