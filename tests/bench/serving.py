"""The scripted endpoint in a process of its own, so that what is measured does not share an interpreter with it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.endpoint.scripted.server import ScriptedServer
from tests.e2e.commands import ROOT, People, environment


@contextmanager
def people_served(people: People, latency_ms: float) -> Iterator[str]:
    """Serve the corpus's script and give its base URL."""
    command = [sys.executable, "-m", "tests.bench.serving", str(people.folder), str(people.cases), str(latency_ms)]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    """Serve until the parent ends it."""
    folder, cases, latency_ms = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with ScriptedServer(People(folder, cases).script(), latency_ms=latency_ms) as server:
        print(server.base_url, flush=True)  # noqa: T201 - it is what the parent waits for
        sys.stdin.read()


if __name__ == "__main__":
    main()
