"""Runs one read on a fixture behind locked doors, and compares results.

The public names are loaded when they are asked for: the processes inside the walls import modules of this package and
must stay small.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.sandbox.comparison import compare_results
    from harness.sandbox.embedded import EmbeddedMongo, EmbeddedPostgres
    from harness.sandbox.executor import FixtureExecutor
    from harness.sandbox.policy import Policy
    from harness.sandbox.result import SandboxResult
    from harness.sandbox.sandbox import Sandbox

_HOMES = {
    "EmbeddedMongo": "embedded",
    "EmbeddedPostgres": "embedded",
    "FixtureExecutor": "executor",
    "Policy": "policy",
    "Sandbox": "sandbox",
    "SandboxResult": "result",
    "compare_results": "comparison",
}

__all__ = [
    "EmbeddedMongo",
    "EmbeddedPostgres",
    "FixtureExecutor",
    "Policy",
    "Sandbox",
    "SandboxResult",
    "compare_results",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
