"""The arrows between rooms point one way: each room imports only rooms below it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each room with the rooms of `harness` that it may use, itself aside; `canon` and `harness.errors` are open to all.
MAY_USE: dict[str, set[str]] = {
    "types": set(),
    "errors": {"types"},
    "statistics": {"types"},
}
LEAVES = {"cli", "report"}
# What people call from Python stands above all rooms, as the commands do, and may show what it found.
FRONT_DOORS = {"cli", "api", "testing", "pytest_plugin", "bridges"}


def imported(path: Path) -> set[str]:
    """The dotted names of `canon` and `harness` modules that a file imports, lazily or not."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in {"canon", "harness"}}


def room(path: Path) -> str:
    """The room of `harness` that a file stands in, `""` for the package's own front door."""
    parts = path.relative_to(ROOT / "harness").with_suffix("").parts
    return parts[0] if parts[0] not in {"__init__", "__main__"} else ""


HARNESS = sorted((ROOT / "harness").rglob("*.py"))


@pytest.mark.parametrize("path", sorted((ROOT / "canon").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_canon_imports_nothing_of_harness(path: Path) -> None:
    assert {name for name in imported(path) if name.startswith("harness")} == set()


@pytest.mark.parametrize("path", HARNESS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_imports_the_leaves(path: Path) -> None:
    used = {name.split(".")[1] for name in imported(path) if name.startswith("harness.")}
    forbidden = LEAVES - {room(path)}
    if room(path) in FRONT_DOORS:
        forbidden -= {"report"}
    if room(path) == "":
        forbidden = set()
    assert used & forbidden == set()


@pytest.mark.parametrize("path", [path for path in HARNESS if room(path) in MAY_USE], ids=lambda p: str(p.name))
def test_the_ground_floor_stands_on_nothing(path: Path) -> None:
    used = {name.split(".")[1] for name in imported(path) if name.startswith("harness.")}
    assert used - MAY_USE[room(path)] - {room(path), "errors" if room(path) != "types" else room(path)} == set()
