"""What the commands that make a run share: flags to options, the run and its progress, the reports, the exit status."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.endpoint.logs import configure_logging
from harness.endpoint.redaction import Redactor
from harness.errors import UsageError
from harness.report.formats import reporter_for, write_reports
from harness.report.progress import ProgressBar
from harness.report.terminal import write_report
from harness.runs.folder import RunFolder, StoredRun, latest_run
from harness.runs.options import RunOptions, listed, read_instant
from harness.runs.runner import Unwatched
from harness.runs.session import Session
from harness.runs.status import exit_status, read_rate


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a command prints and writes.

    Attributes:
        out: reports to write.
        fail_under: the rate that is enough, 0 to 1.
        as_json: one JSON object on stdout instead of the report.
        quiet: nothing but the report.
        verbose: every case.
    """

    out: tuple[Path, ...] = ()
    fail_under: float | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False


def log_to_stderr(level: str | None) -> None:
    """Send log lines to stderr from a level on; `None` = none.

    Raises:
        UsageError: there is no such level.
    """
    if level is not None:
        # The endpoint's messages come here without its secrets; this masks what only looks like one.
        configure_logging(level, Redactor())


def read_output(params: Mapping[str, Any], *, comparison: bool = False) -> Output:
    """Read the flags about output; a report that nobody can write is refused before the first call is paid for.

    Raises:
        UsageError: a flag cannot be meant.
    """
    out = tuple(params.get("out") or ())
    for path in out if not comparison else ():
        reporter_for(path)
    given = params.get("fail_under")
    return Output(
        out=out,
        fail_under=read_rate(given) if given is not None else None,
        as_json=bool(params.get("as_json")),
        quiet=bool(params.get("quiet")),
        verbose=bool(params.get("verbose")),
    )


def read_options(params: Mapping[str, Any]) -> RunOptions:
    """Read the flags about the run; with `--resume`, what is not said is as the run was started.

    Raises:
        UsageError: a flag cannot be meant, or there is no golden file.
    """
    given = {name: params[name] for name in RunOptions.model_fields if _is_said(params.get(name))}
    for name in ("only", "ids"):
        if name in given:
            given[name] = listed(given[name])
    if "now" in given:
        given["now"] = read_instant("--now", given["now"])
    if params.get("words_refuse") is not None:
        given["words_refuse"] = params["words_refuse"]
    if params.get("no_witness"):
        given["witness"] = False
    if given.get("retry_errors") and not given.get("resume"):
        raise UsageError("--retry-errors asks again what failed in transport in a run: it needs --resume")
    earlier = _as_started(given) if given.get("resume") else {}
    if "golden" not in given and "golden" not in earlier:
        raise UsageError("no golden file: --in FILE")
    try:
        started = RunOptions.model_validate_json(json.dumps({"golden": "", **earlier})).model_dump()
        return RunOptions.model_validate({**started, **given})
    except ValidationError as error:
        first = error.errors()[0]
        flag = str(first["loc"][0]).replace("_", "-")
        flag = {"golden": "in", "exec-url": "exec"}.get(flag, flag)
        raise UsageError(f"--{flag}: {first['msg'][0].lower()}{first['msg'][1:]}") from error


def _is_said(value: object) -> bool:
    """Whether a flag was given: a 0 was, an absent flag, an unset switch and an empty list were not."""
    return value is not None and value is not False and value != []


def _as_started(given: Mapping[str, Any]) -> dict[str, Any]:
    runs = given.get("runs", Path("runs"))
    folder = RunFolder(runs / given["name"]) if "name" in given else latest_run(runs)
    return dict(folder.read_facts().flags) if folder.exists() else {}


def report_run(options: RunOptions, output: Output, *, scripted: bool = False) -> int:
    """Make a run, report it, and return the exit status."""
    watcher = Unwatched() if output.quiet else ProgressBar(sys.stderr)
    session = Session(options=options, say=say, scripted=scripted, watcher=watcher)
    run = asyncio.run(session.run())
    report(run, output)
    if not output.quiet:
        say(f"kept in {run.folder.path}")
    return exit_status(run, fail_under=output.fail_under, stopped=session.stop.is_set())


def report(run: StoredRun, output: Output) -> None:
    """Print a run and write its reports."""
    if output.as_json:
        document = {**run.summary.model_dump(mode="json"), "run": run.facts.model_dump(mode="json")}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        write_report(run, sys.stdout, verbose=output.verbose)
    sys.stdout.flush()
    write_reports(run, output.out)


def report_dry_run(options: RunOptions, output: Output) -> None:
    """Check and say what was found."""
    from harness.runs.dry_run import dry_run, facts_of, lines

    found = dry_run(options)
    if output.as_json:
        sys.stdout.write(json.dumps(facts_of(found)) + "\n")
    else:
        sys.stdout.write("\n".join(lines(found)) + "\n")
    for warning in found.corpus.warnings:
        say(f"warning: {warning}")


def say(text: str) -> None:
    """Tell the user a line, apart from the data on stdout."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
