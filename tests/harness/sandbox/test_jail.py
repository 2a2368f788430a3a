"""The walls themselves: each is tried from inside, and what must stand fails closed when it does not."""

import json
import subprocess
import sys

import pytest

from harness.sandbox import jail
from harness.sandbox.jail import JailError, filter_program

SCRIPT = """
import json, os, socket, sys
from harness.sandbox.jail import Jail, JailError, Limits, unprivileged_uid

def attempt():
    {attempt}

made = Jail(uid=unprivileged_uid())
{change}
reading, writing = os.pipe()
parent = os.getpid()
pid = os.fork()
if pid == 0:
    try:
        layers = made.lock(Limits(address_space=512 << 20, cpu_seconds={cpu}), {parent}, (writing,))
        try:
            said = repr(attempt())
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, json.dumps([layers, said]).encode())
    except JailError as error:
        os.write(writing, json.dumps(["jail", str(error)]).encode())
    os._exit(0)
os.close(writing)
data = b""
while part := os.read(reading, 65536):
    data += part
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps([status, json.loads(data) if data else None]))
"""


def inside(attempt="return 1", change="", parent="parent", cpu=5):
    code = SCRIPT.format(attempt=attempt, change=change, parent=parent, cpu=cpu)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


REFUSED = [
    ("return open('/etc/passwd')", "PermissionError"),
    ("return open('/dev/null', 'w')", "PermissionError"),
    ("return os.listdir('/')", "PermissionError"),
    ("return os.stat('/')", "PermissionError"),
    ("return os.readlink('/proc/self/exe')", "PermissionError"),
    ("return os.unlink('/nosuch')", "PermissionError"),
    ("return socket.socket()", "PermissionError"),
    ("import mmap; return mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)", None),
    ("return len(bytearray(600 << 20))", "MemoryError"),
]
DEADLY = [
    "os.fork()",
    "os.execv('/bin/true', ['/bin/true'])",
    "os.kill(os.getppid(), 9)",
    "os.setuid(0)",
    "os.chdir('/')",
    "os.rename('/a', '/b')",
    "os.memfd_create('x')",
    "os.pipe()",
]


@pytest.mark.parametrize(("attempt", "error"), REFUSED)
def test_what_honest_libraries_try_is_refused(attempt, error):
    status, answer = inside(attempt)
    assert status == 0
    assert answer[1] == error if error else answer[1].endswith("Error")


@pytest.mark.parametrize("attempt", DEADLY)
def test_what_only_an_attack_tries_is_deadly(attempt):
    assert inside(attempt) == [-31, None]


def test_endless_work_meets_the_limit_of_cpu_time():
    status, answer = inside("while True: pass", cpu=1)
    assert (status, answer) == (-9, None)  # soft and hard limit are one: the kernel does not ask twice


def test_without_landlock_seccomp_still_keeps_files_away():
    _, (layers, said) = inside("return open('/etc/passwd')", "made.landlock_abi = 0")
    assert "landlock" not in layers
    assert "seccomp" in layers
    assert said == "PermissionError"


CLOSED = [
    ("made._number = 1000000", "parent", "seccomp"),
    ("made._program = b''", "parent", "seccomp"),
    ("", "parent + 1", "parent is gone"),
    ("made._libc.prctl = lambda *words: -1 if words[0] == 38 else 0", "parent", "no_new_privs"),
]


@pytest.mark.parametrize(("change", "parent", "message"), CLOSED)
def test_a_wall_that_does_not_stand_stops_the_child(change, parent, message):
    change = change or "pass"
    if "prctl" in change:
        change = (
            "class Libc:\n"
            "    def __init__(self, real): self.real = real\n"
            "    def prctl(self, *words): return -1 if words[0] == 38 else self.real.prctl(*words)\n"
            "    def __getattr__(self, name): return getattr(self.real, name)\n"
            "made._libc = Libc(made._libc)"
        )
    status, answer = inside(change=change, parent=parent)
    assert (status, answer[0]) == (0, "jail")
    assert message in answer[1]


def test_unknown_processors_and_platforms_are_refused(monkeypatch):
    monkeypatch.setattr(jail.platform, "machine", lambda: "riscv64")
    with pytest.raises(JailError, match="riscv64"):
        filter_program()
    monkeypatch.setattr(jail.platform, "machine", lambda: "aarch64")
    assert len(filter_program()) % 8 == 0
    monkeypatch.setattr(jail.sys, "platform", "darwin")
    with pytest.raises(JailError, match="Linux"):
        jail.Jail()
