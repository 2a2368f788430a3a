"""What other packages add to rung by entry points: reporters, targets and identities.

==================  =========================================================================================
group               an entry point is
==================  =========================================================================================
`rung.reporters`    named after an extension (`xlsx`): a class or function without arguments that gives a
                    `Reporter`; it writes the files that end so
`rung.targets`      named as `--target` names it: a function from `TargetSettings` to a `Target`
`rung.identities`   an `Identity`: a rewriting that its author vouches for (see `harness.grading.identities`)
==================  =========================================================================================
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from harness.errors import UsageError

REPORTERS = "rung.reporters"
TARGETS = "rung.targets"
IDENTITIES = "rung.identities"


def names(group: str) -> tuple[str, ...]:
    """What is installed in a group, by name."""
    return tuple(sorted({point.name for point in entry_points(group=group)}))


def load(group: str, name: str) -> Any | None:
    """The object of that name; `None` where none is installed.

    Raises:
        UsageError: two packages offer it, or it cannot be loaded.
    """
    found = list(dict.fromkeys(entry_points(group=group, name=name)))
    if not found:
        return None
    if len({point.value for point in found}) > 1:
        offered = " and ".join(sorted(point.value for point in found))
        raise UsageError(f"two packages offer `{name}` for {group}: {offered}; uninstall one")
    return _loaded(found[0])


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # it imports another package's code, which may raise anything
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"the entry point {point.name} of {point.group} ({point.value}) fails: {said}") from error
