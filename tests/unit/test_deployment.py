"""docker-compose.yml and the Dockerfile name only things that exist in the project.

No container engine is needed: the compose file is held against the published schema, and every
command, option, port, environment variable and file in it against the code. What the image does
when it is built, and what its base images hold, is not seen here.
"""

import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from cryptography.fernet import Fernet
from pytest import MonkeyPatch
from temporalio.envconfig import ClientConfig

from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.core.secret_names import secret_for_scheme
from orchestrator.proxy.server import _GRACE_S
from orchestrator.runtime.devserver import SANDBOX_PROFILE, SANDBOX_SECRETS
from orchestrator.settings import Settings, load_settings
from tests.shipped import shipped_catalog

_ROOT: Final = Path(__file__).parents[2]
_COMPOSE_FILE: Final = _ROOT / "docker-compose.yml"
_COMPOSE: Final[dict[str, Any]] = yaml.safe_load(_COMPOSE_FILE.read_text(encoding="utf-8"))
_SERVICES: Final[dict[str, Any]] = _COMPOSE["services"]
_OURS: Final = sorted(name for name, service in _SERVICES.items() if "build" in service)
_INSTRUCTIONS: Final = [
    tuple(line.split(None, 1))
    for line in re.sub(
        r"\\\n", " ", (_ROOT / "Dockerfile").read_text(encoding="utf-8")
    ).splitlines()
    if line and not line.startswith("#")
]
ParseCommand = Callable[[list[str]], None]
_PREFIX: Final = "ORCHESTRATOR_"
_SESSION_KEY: Final = "ORCHESTRATOR_SECRET_SERVE__SESSION_KEY"
"""Signs the sessions of people, by the name that `serve` looks up."""


def test_the_compose_file_obeys_the_published_schema(tmp_path: Path) -> None:
    """The compose specification's own JSON Schema accepts the file, and refuses a misspelt key."""
    misspelt = tmp_path / "docker-compose.yml"
    misspelt.write_text("services: {worker: {image: x, comand: [worker]}}", encoding="utf-8")
    finished = _check_schema(_COMPOSE_FILE)

    assert finished.returncode == 0, finished.stdout
    assert _check_schema(misspelt).returncode == 1


def test_the_services_are_the_ones_promised() -> None:
    """Temporal with its database and Web UI, the worker with its store, sandbox, inbox; no more."""
    temporal = {"postgresql", "temporal", "temporal-ui"}
    assert set(_SERVICES) == temporal | {"store", "worker", "sandbox", "serve"}
    assert _OURS == ["sandbox", "serve", "worker"]
    assert _SERVICES["serve"]["profiles"] == ["serve"]  # it needs an issuer of your own


def test_commands_of_services_image_and_comments_exist(parse_command: ParseCommand) -> None:
    """The CLI parses each, options and all."""
    text = _COMPOSE_FILE.read_text(encoding="utf-8")
    found = re.findall(r"^# .*exec (\S+) (orchestrator .+)$", text, flags=re.MULTILINE)
    (command,) = _arguments("CMD")

    assert found != []
    assert {service for service, _ in found} <= {*_OURS}
    commands = [_SERVICES[service]["command"] for service in _OURS]
    for words in (yaml.safe_load(command), *commands, *(shlex.split(one) for _, one in found)):
        parse_command(words)


@pytest.mark.parametrize("command", [["orchestrator", "wroker"], ["orchestrator", "worker", "-z"]])
def test_an_unknown_command_is_found(command: list[str], parse_command: ParseCommand) -> None:
    """The check for commands can fail: on a misspelt command and on an unknown option."""
    with pytest.raises(Exception, match=r"(?i)no such (command|option)"):
        parse_command(command)


@pytest.mark.parametrize("service", _OURS)
def test_our_environment_variables_are_settings(service: str) -> None:
    """Every ORCHESTRATOR_ variable of a service is a field of Settings, or names a credential."""
    known = {f"{_PREFIX}{field}".upper() for field in Settings.model_fields}
    known |= {f"{credential}_FILE" for credential in (*SANDBOX_SECRETS, _SESSION_KEY)}

    assert {name for name in _environment(service) if name.startswith(_PREFIX)} <= known


@pytest.mark.parametrize("service", _OURS)
def test_our_environment_makes_valid_settings(service: str, monkeypatch: MonkeyPatch) -> None:
    """The values of a service parse as the settings they are for."""
    for name, value in _environment(service).items():
        monkeypatch.setenv(name, _by_default(value))
    settings = load_settings()
    given = {name.removeprefix(_PREFIX).lower() for name in _environment(service)}
    assert given & set(Settings.model_fields) <= settings.model_fields_set


def test_the_worker_calls_the_sandbox_by_its_service_name(monkeypatch: MonkeyPatch) -> None:
    """The server variables of the worker lead to the port that the sandbox service listens on."""
    for name in ("ORCHESTRATOR_SERVER_VARIABLES", "ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS"):
        monkeypatch.setenv(name, _environment("worker")[name])
    sandbox = {"host": "sandbox", "port": _sandbox_option("port")}
    assert Settings().server_variables == {name: sandbox for name in shipped_catalog().documents}
    assert _sandbox_option("host") == "0.0.0.0"  # all interfaces: of a container
    # Its address is private, so its name is allowed, and no other.
    assert Settings().allowed_private_hosts == ("sandbox",)


def test_every_port_that_is_published_is_one_that_is_served() -> None:
    """Container ports agree with the commands, addresses and health checks beside them."""
    served = {
        "temporal": _environment("temporal")["TEMPORAL_ADDRESS"].rpartition(":")[2],
        "temporal-ui": "8080",  # the image's own default
        "sandbox": _sandbox_option("port"),
        "serve": _listen_port(),
    }
    published = {name: one["ports"] for name, one in _SERVICES.items() if "ports" in one}

    assert {name: one[0].rpartition(":")[2] for name, one in published.items()} == served
    for name in ("temporal-ui", "sandbox"):
        assert served[name] in " ".join(_SERVICES[name]["healthcheck"]["test"])
    for address in (port for ports in published.values() for port in ports):
        assert socket.inet_aton(address.split(":")[0])[0] == 127  # this machine alone


def test_the_worker_finds_temporal_through_the_sdk_variables() -> None:
    """The SDK's own environment configuration reads the worker's variables to the server."""
    config = ClientConfig.load_client_connect_config(
        disable_file=True, override_env_vars=_environment("worker")
    )

    assert config["target_host"] == _environment("temporal")["TEMPORAL_ADDRESS"]
    assert config["target_host"].partition(":")[0] in _SERVICES
    assert config["namespace"] == _environment("temporal")["DEFAULT_NAMESPACE"]


def test_a_service_waits_only_for_health_that_is_checked() -> None:
    """Each depends_on names a service that has the health check it waits for."""
    waits = [
        (name, other, how["condition"])
        for name, service in _SERVICES.items()
        for other, how in service.get("depends_on", {}).items()
    ]

    assert {("worker", other, "service_healthy") for other in ("temporal", "sandbox")} <= {*waits}
    for _, other, condition in waits:
        assert condition == "service_healthy"
        assert "test" in _SERVICES[other]["healthcheck"]


def test_every_volume_is_declared_or_a_path_of_the_project() -> None:
    """A mount is a named volume that is declared, or a file or folder of the project."""
    sources = {
        mount.split(":")[0]
        for service in _SERVICES.values()
        for mount in service.get("volumes", ())
    }
    paths = {source for source in sources if source.startswith(".")}

    assert sources - paths == set(_COMPOSE["volumes"])
    for path in paths:
        assert (_ROOT / path).exists(), path


@pytest.mark.parametrize("service", _OURS)
def test_every_path_in_a_container_is_mounted(service: str) -> None:
    """An absolute path in a setting or an option of a service lies in one of its mounts."""
    mounts = {mount.split(":")[1] for mount in _SERVICES[service]["volumes"]}
    mounts |= {f"/run/secrets/{name}" for name in _SERVICES[service].get("secrets", ())}
    options = (word.partition("=")[2] for word in _SERVICES[service]["command"])
    paths = {path for path in (*_environment(service).values(), *options) if path.startswith("/")}

    assert paths != set()
    for path in paths:
        assert any(Path(path).is_relative_to(mount) for mount in mounts), path


def test_the_state_folder_is_made_for_the_user_of_the_image() -> None:
    """The image makes the folder of the state volumes, owned by the user that runs."""
    made = [command for command in _arguments("RUN") if "install --directory" in command]
    user, group = _arguments("USER")[-1].split(":")

    assert len(made) == 1
    for service in _OURS:
        writable = [mount for mount in _SERVICES[service]["volumes"] if not mount.endswith(":ro")]
        assert writable != []
        assert {mount.split(":")[1] for mount in writable} <= {*made[0].split()}
    assert f"--owner {user} --group {group}" in made[0]


def test_every_file_that_the_image_copies_exists_and_is_sent() -> None:
    """What COPY names is in the project, and .dockerignore lets it through."""
    sources = {
        source.removeprefix("./")
        for arguments in _arguments("COPY")
        if not arguments.startswith("--from=")
        for source in arguments.split()[:-1]
    }
    sent = {
        line.removeprefix("!")
        for line in (_ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }

    assert sources == sent
    for source in sources:
        assert (_ROOT / source).exists(), source


def test_the_image_holds_everything_that_the_wheel_is_made_of() -> None:
    """The folders that pyproject.toml puts into the wheel are all copied into the image."""
    pyproject = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^packages = \[(.*)\]$", pyproject, flags=re.MULTILINE)
    packages = set(re.findall(r'"(\w+)"', listed))
    linked = {p.name for p in (_ROOT / "orchestrator").iterdir() if p.is_symlink()}
    copied = {arguments.split()[0] for arguments in _arguments("COPY")}
    assert packages != set()
    assert linked == {"workflows", "activities", "specs"}
    assert packages | linked <= copied


def test_the_image_is_built_from_locks_and_runs_as_a_number() -> None:
    """Dependencies come with their hashes, the project adds none, and root does not run it."""
    installs = [command for command in _arguments("RUN") if "pip install" in command]
    installs += [command for command in _arguments("RUN") if " install --only-binary" in command]
    fetching = [command for command in installs if "--no-index" not in command]
    assert fetching != []
    assert all("--only-binary :all: --require-hashes" in command for command in fetching)
    assert all("--no-deps" in c for c in _arguments("RUN") if "--no-index" in c)
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", _arguments("USER")[-1])
    assert _INSTRUCTIONS[-2:][0][0] in ("USER", "WORKDIR")


def test_what_builds_stays_in_the_first_stage() -> None:
    """The last stage takes one folder of the first, and installs nothing itself."""
    last = [number for number, line in enumerate(_INSTRUCTIONS) if line[0] == "FROM"][-1]
    stage = _INSTRUCTIONS[last:]

    assert [arguments for name, arguments in stage if name == "COPY"] == [
        "--from=build /opt/orchestrator /opt/orchestrator"
    ]
    assert not any("pip" in arguments for name, arguments in stage if name == "RUN")


def _locked(file: str) -> dict[str, str]:
    lines = (_ROOT / file).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([a-z0-9._-]+)==([^ ]+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def _declared(requirements: list[Any]) -> set[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", one) for one in requirements if isinstance(one, str))
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in names if match}


def test_the_image_has_what_runs_and_no_tool_of_tests() -> None:
    """All that the project declares, as tested here, and nothing that tests alone ask for."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime, tested = _locked("deploy/image/runtime.lock"), _locked("requirements.lock")
    wanted = _declared(project["project"]["dependencies"])
    wanted |= _declared(project["project"]["optional-dependencies"]["llm"])
    groups = project["dependency-groups"]
    tools = _declared([one for group in ("test", "typing", "dev") for one in groups[group]])

    assert wanted <= runtime.keys()
    assert runtime.items() <= tested.items()
    assert runtime.keys() & (tools - wanted) <= _BROUGHT_BY_OTHERS
    assert {"pytest", "mypy", "ruff", "hypothesis"}.isdisjoint(runtime)
    assert _declared(groups["build"]) <= _locked("deploy/image/build.lock").keys()


_BROUGHT_BY_OTHERS: Final = frozenset({"packaging", "types-protobuf"})
"""What tests ask for, and what runs needs by way of something else."""


def test_every_image_is_pinned_by_its_digest() -> None:
    """A tag moves; what was tried out is what runs."""
    bases = [arguments.split()[0] for arguments in _arguments("FROM")]
    foreign = [s["image"] for s in _SERVICES.values() if "build" not in s]

    assert len(bases) + len(foreign) == 6
    for image in (*bases, *foreign):
        assert re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image), image


@pytest.mark.parametrize("service", sorted(_SERVICES))
def test_services_have_limits_and_ours_write_nothing_but_their_folders(service: str) -> None:
    """None takes the machine from the others; ours gain no privilege."""
    confined = _SERVICES[service]

    assert {"mem_limit", "cpus", "healthcheck", "restart"} <= confined.keys()
    if service in _OURS:
        assert confined["read_only"] is True
        assert confined["cap_drop"] == ["ALL"]
        assert confined["security_opt"] == ["no-new-privileges:true"]
        assert confined["user"] == _arguments("USER")[-1]
        assert confined["tmpfs"] == ["/tmp"]


def test_worker_and_inbox_are_healthy_when_they_serve_and_may_end_their_work() -> None:
    """Their own probes are asked, at the ports that they listen on."""
    worker = _environment("worker")
    ports = {"worker": worker["ORCHESTRATOR_HEALTH"].rpartition(":")[2], "serve": _listen_port()}
    ends_s = {"worker": float(worker["ORCHESTRATOR_DRAIN"]), "serve": _GRACE_S}

    for name, port in ports.items():
        assert f"127.0.0.1:{port}/readyz" in _SERVICES[name]["healthcheck"]["test"][-1]
        assert float(_SERVICES[name]["stop_grace_period"].removesuffix("s")) > ends_s[name]
    assert {"temporal", "store"} <= _SERVICES["serve"]["depends_on"].keys()


def test_secrets_come_by_files_alone() -> None:
    """No variable of any service holds one, and none is in the file."""
    declared = set(_COMPOSE["secrets"])
    mounted = {name for service in _SERVICES.values() for name in service.get("secrets", ())}

    assert mounted == declared
    for service in _SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|PWD|SECRET|KEY|TOKEN|STORE", name):
                assert name.endswith("_FILE"), name
                assert value.removeprefix("/run/secrets/") in service["secrets"], name
    settings = {f"{_PREFIX}{n}".upper() for n in Settings.model_fields if f"{n}_file" in _FIELDS}
    assert settings.isdisjoint(_environment("worker"))


_FIELDS: Final = Settings.model_fields.keys()


def test_the_secrets_that_compose_mounts_are_made(tmp_path: Path) -> None:
    script = _ROOT / "deploy/compose/make-secrets.sh"
    made = tmp_path / "a folder"
    for _ in range(2):
        subprocess.run(["sh", script, made], check=True, capture_output=True)
    first = {one.name: one.read_text() for one in made.iterdir()}
    (made / "pii_key").unlink()
    subprocess.run(["sh", script, made], check=True, capture_output=True)
    second = {one.name: one.read_text() for one in made.iterdir()}

    assert first.keys() == set(_COMPOSE["secrets"])
    assert {name for name in first if first[name] != second[name]} == {"pii_key"}
    assert first["temporal_db_password"] != first["store_password"]
    assert first["store_password"].strip() in first["store_url"]
    assert made.stat().st_mode & 0o777 == 0o700
    for name, place in _COMPOSE["secrets"].items():
        assert place == {"file": f"./deploy/compose/secrets/{name}"}
    Fernet(first["pii_key"].strip())
    assert first["store_url"].strip().rpartition("@")[2] == "store:5432/orchestrator"


def test_the_person_of_the_sandbox_is_the_one_that_dev_makes_up() -> None:
    """The values that the demo's trip asks for, each under the name that a tool gives it."""
    script = (_ROOT / "deploy/compose/sandbox-person.sh").read_text(encoding="utf-8")
    told = dict(re.findall(r"^keep (\S+) '([^']*)'$", script, flags=re.MULTILINE))

    assert told == dict(SANDBOX_PROFILE)


def test_the_worker_has_the_credentials_that_the_sandbox_documents_name(tmp_path: Path) -> None:
    """Each one that a tool of theirs asks for: a trip does not stop half-way for want of it."""
    subprocess.run(
        ["sh", _ROOT / "deploy/compose/make-secrets.sh", tmp_path], check=True, capture_output=True
    )
    environment = {
        name: value.replace("/run/secrets", str(tmp_path))
        for name, value in _environment("worker").items()
    }
    secrets = EnvironmentSecrets(environment)
    named = {
        secret_for_scheme(name, scheme).name
        for name, document in shipped_catalog().documents.items()
        for scheme in _schemes(document)
    }

    assert named != set()
    for name in named:
        assert secrets.get(name)


def _check_schema(file: Path) -> subprocess.CompletedProcess[str]:
    command = ["check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )


def _listen_port() -> str:
    (listen,) = (word for word in _SERVICES["serve"]["command"] if word.startswith("--listen="))
    return str(listen.rpartition(":")[2])


def _sandbox_option(name: str) -> str:
    (value,) = (
        word.partition("=")[2]
        for word in _SERVICES["sandbox"]["command"]
        if word.startswith(f"--{name}=")
    )
    return str(value)


def _environment(service: str) -> dict[str, str]:
    environment: dict[str, str] = _SERVICES[service]["environment"]
    return environment


def _schemes(document: Any) -> list[str]:
    return list(document.get("components", {}).get("securitySchemes", {}))


def _by_default(value: str) -> str:
    """What compose passes where the variable that it names is not set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def _arguments(instruction: str) -> list[str]:
    return [line[1] for line in _INSTRUCTIONS if line[0] == instruction]
