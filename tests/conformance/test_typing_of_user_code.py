"""A user's own strictly typed test suite is clean under pyright, and passes."""

import json
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "typing_example"
ROOT = EXAMPLE.parents[1]


def test_strict_pyright_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / "pyrightconfig.json"
    settings = {"typeCheckingMode": "strict", "include": [str(EXAMPLE)], "extraPaths": [str(ROOT)]}
    config.write_text(json.dumps({**settings, "pythonVersion": "3.11"}))
    # The checker comes as a wheel with its own node: nothing is downloaded.
    checker = str(Path(sys.executable).with_name("basedpyright"))
    command = [checker, "-p", str(config), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert [found["message"] for found in report["generalDiagnostics"]] == []
    assert report["summary"]["filesAnalyzed"] == 1
