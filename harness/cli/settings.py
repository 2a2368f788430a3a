"""Settings from `rung.toml`, or `[tool.rung]` in `pyproject.toml`, of the current folder."""

import tomllib
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.types.problems import FileProblem


def read_settings(name: str, command: Any) -> dict[str, object]:
    """Settings for a command: the file's top level, and above it the file's table of that name.

    Keys are the long names of flags, with `-` or `_` (`base-url = "…"`). The top level serves all commands, so that
    a key there may name a flag of another command; a key in the command's own table must be a flag of this one.

    Raises:
        InputError: the file is no TOML, or the command's table holds what is no flag of it.
    """
    path, table = _find()
    if path is None:
        return {}
    known = _flags(command)
    own = table.get(name, {})
    if not isinstance(own, dict):
        raise InputError((_problem(path, name, f"[{name}] must be a table"),))
    strange = [key for key in own if _plain(key) not in known and not isinstance(own[key], dict)]
    if strange:
        raise InputError(tuple(_problem(path, key, _suggest(name, key, known)) for key in strange))
    merged = {_plain(key): value for key, value in {**table, **own}.items()}
    merged = _listed(command, known, merged)
    settings: dict[str, object] = {known[key]: value for key, value in merged.items() if key in known}
    for child, below in (getattr(command, "commands", None) or {}).items():
        settings[child] = {_flags(below)[key]: value for key, value in merged.items() if key in _flags(below)}
    return settings


def _listed(command: Any, known: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    """One text for a flag that may be given several times is that flag given once, not its letters."""
    several = {parameter.name for parameter in command.params if getattr(parameter, "multiple", False)}
    return {
        key: [value] if isinstance(value, str) and known.get(key) in several else value for key, value in values.items()
    }


def _find() -> tuple[Path | None, dict[str, Any]]:
    own = Path("rung.toml")
    if own.is_file():
        return own, _load(own)
    shared = Path("pyproject.toml")
    if shared.is_file():
        table = _load(shared).get("tool", {}).get("rung")
        if isinstance(table, dict):
            return shared, table
    return None, {}


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError((FileProblem(path=path, line=None, column=None, message=f"not TOML: {error}"),)) from error


def _plain(key: str) -> str:
    return key.replace("-", "_")


def _flags(command: Any) -> dict[str, str]:
    """From a flag's long name to the name of the parameter behind it."""
    return {
        _plain(spelling.removeprefix("--")): parameter.name
        for parameter in command.params
        for spelling in parameter.opts
        if spelling.startswith("--") and parameter.name != "help"
    }


def _suggest(name: str, key: str, known: dict[str, str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(_plain(key), known, n=1)
    hint = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
    return f"rung {name} has no flag --{key.replace('_', '-')}{hint}"


def _problem(path: Path, key: str, message: str) -> FileProblem:
    return FileProblem(path=path, line=None, column=key, message=message)
