"""From arguments to a command: finds it, reads both spellings of flags, fills in settings, turns errors into words."""

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from typer.main import get_command

if TYPE_CHECKING:
    from harness.cli import Entry

OK = 0
USAGE = 2
NOTHING_ANSWERED = 3
BUG = 70
INTERRUPTED = 130
OVERVIEW_WIDTH = 120


class Parameter(Protocol):
    """What is read and set of an option that typer has built."""

    name: str | None
    opts: list[str]
    secondary_opts: list[str]
    envvar: str | list[str] | None


def dispatch(commands: Sequence["Entry"], argv: list[str]) -> int:
    """Run the command that `argv` names and return the exit status."""
    place = next((entry.place for entry in commands if argv and entry.name == argv[0]), None)
    try:
        if place is None:
            return _call(overview(commands), "rung", argv, {})
        return _run(place, argv[0], argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`rung … | head`): nothing more can be said to it, nor need be.
        sys.stdout = None
        return OK
    except Exception as error:
        return _confess(error)


def _run(place: str, name: str, argv: list[str]) -> int:
    from harness.cli.settings import read_settings
    from harness.errors import EndpointError, RungError, UsageError

    # What the parser cannot read becomes an error of its own; its log would repeat it in other words.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        command = load(place)
        _name_environment(command)
        return _call(command, f"rung {name}", double_dashed(argv, _options(command)), read_settings(name, command))
    except UsageError as error:
        return _tell("usage", error, USAGE)
    except EndpointError as error:
        return _tell("error", error, NOTHING_ANSWERED)
    except RungError as error:
        return _tell("error", error, USAGE)


def overview(commands: Iterable["Entry"]) -> Any:
    """The typer command behind `rung --help`: names and summaries only, no command is imported."""
    app = typer.Typer(
        name="rung",
        help="Does it ask the database what the person asked? Grades natural-language-to-query systems.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        # Each summary is one whole line; in a narrower terminal it wraps there instead of being cut here.
        context_settings={"terminal_width": OVERVIEW_WIDTH},
    )
    app.callback()(_version_option)
    for entry in commands:
        app.command(entry.name, help=entry.summary)(_never_called)
    return get_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"rung {installed('rung')}")
        raise typer.Exit


def _version_option(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version)] = False,
) -> None:
    """Carry the options of `rung` itself."""


def _never_called() -> None:
    raise AssertionError("a command in the overview is only described")


def load(place: str) -> Any:
    """Import `module:function` and build the typer command of it."""
    module, _, attribute = place.partition(":")
    found: typer.Typer | Callable[..., object] = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return get_command(found)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(epilog=_EPILOG)(found)
    return get_command(app)


_EPILOG = (
    "Every flag also works with one dash (-repeat 5), from the environment (RUNG_REPEAT=5) and from rung.toml or "
    "[tool.rung] in pyproject.toml (repeat = 5), the flag winning over the environment and that over the file."
)


def _leaves(command: Any) -> list[Any]:
    """The command itself, or the commands below it."""
    below = getattr(command, "commands", None)
    return [leaf for child in below.values() for leaf in _leaves(child)] if below else [command]


def _parameters(command: Any) -> list[Parameter]:
    return [parameter for leaf in _leaves(command) for parameter in leaf.params]


def _options(command: Any) -> frozenset[str]:
    """Every long option of a command and of the commands below it."""
    return frozenset(
        spelling
        for parameter in _parameters(command)
        for spelling in (*parameter.opts, *parameter.secondary_opts)
        if spelling.startswith("--")
    ) | {"--help"}


def double_dashed(argv: Sequence[str], options: frozenset[str]) -> list[str]:
    """Rewrite `-repeat 5` and `-repeat=5` to `--repeat …`, for the options that exist; all after `--` stays."""
    end = argv.index("--") if "--" in argv else len(argv)
    return [f"-{word}" if f"-{word.partition('=')[0]}" in options else word for word in argv[:end]] + list(argv[end:])


def _name_environment(command: Any) -> None:
    """Let every option be set by `RUNG_<NAME>`."""
    for parameter in _parameters(command):
        long = next((spelling for spelling in parameter.opts if spelling.startswith("--")), None)
        if long and not parameter.envvar:
            parameter.envvar = "RUNG_" + long.removeprefix("--").replace("-", "_").upper()
            # Said once, at the foot of the help, instead of on every line.
            parameter.show_envvar = False  # type: ignore[attr-defined]


def _call(command: Any, name: str, argv: list[str], settings: dict[str, object]) -> int:
    try:
        status = command.main(args=argv, prog_name=name, standalone_mode=True, default_map=settings)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else OK
    return status if isinstance(status, int) else OK


def _tell(kind: str, error: Exception, status: int) -> int:
    """Say a foreseen error as it is meant for the user."""
    for line in str(error).splitlines() or [type(error).__name__]:
        typer.echo(f"{kind}: {line}", err=True)
    return status


def _confess(error: Exception) -> int:
    """Say that the program, not its user, made a mistake."""
    typer.echo(f"internal error: {type(error).__name__}: {error}", err=True)
    typer.echo("This is a bug in rung. RUNG_DEBUG=1 shows where it happened.", err=True)
    if os.environ.get("RUNG_DEBUG"):
        traceback.print_exception(error)
    return BUG
