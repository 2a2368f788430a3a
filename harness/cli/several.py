"""`rung run` with several models: a run for each, one after another, and then the comparison of them."""

import asyncio
import re
import sys
from pathlib import Path

from harness.cli.compare import print_result, write_result
from harness.cli.running import Output, say
from harness.comparison.comparing import compare
from harness.comparison.prices import read_prices
from harness.comparison.sides import side_of_run
from harness.errors import UsageError
from harness.report.progress import ProgressBar
from harness.runs.options import RunOptions
from harness.runs.runner import Unwatched
from harness.runs.session import Session
from harness.runs.status import INTERRUPTED, exit_status

COMPARABLE = (".html", ".md", ".json")


def compare_models(options: RunOptions, models: list[str], output: Output) -> int:
    """Make a run for each model, compare them, and return the highest exit status among the runs.

    An interruption ends the run at hand and starts no further one; the runs that were made are kept.

    Raises:
        UsageError: a model is named twice, or a flag makes sense for one run only.
    """
    refuse_what_is_for_one(options, models, output)
    runs, statuses = [], []
    for model in models:
        name = None if options.name is None else f"{options.name}-{_slug(model)}"
        watcher = Unwatched() if output.quiet else ProgressBar(sys.stderr)
        own = options.model_copy(update={"model": model, "name": name, "resume": _is_begun(options, name)})
        session = Session(options=own, say=say, scripted=False, watcher=watcher)
        run = asyncio.run(session.run())
        runs.append(run)
        if not output.quiet:
            say(f"{model}: kept in {run.folder.path}")
        statuses.append(exit_status(run, fail_under=output.fail_under, stopped=session.stop.is_set()))
        if statuses[-1] == INTERRUPTED:
            say("stopped: nothing is compared")
            return INTERRUPTED
    prices = read_prices([f"{model}={options.price.replace('/', ',')}" for model in models] if options.price else [])
    comparison = compare([side_of_run(str(run.folder.path), run.facts, run.results()) for run in runs], prices=prices)
    print_result(comparison, as_json=output.as_json, verbose=output.verbose)
    for path in output.out:
        write_result(comparison, path)
        say(f"wrote {path}")
    return max(statuses)


def refuse_what_is_for_one(options: RunOptions, models: list[str], output: Output) -> None:
    """Refuse, before a call is paid for, what several models cannot mean.

    Raises:
        UsageError: a model is named twice, or a flag makes sense for one run only.
    """
    if len({_slug(model) if options.name else model for model in models}) < len(models):
        raise UsageError("--model: a model is named twice; --repeat N asks one model several times")
    if options.resume and options.name is None:
        raise UsageError("--resume with several models needs the --name that the runs were started with")
    wrong: list[Path] = [path for path in output.out if path.suffix.lower() not in COMPARABLE]
    if wrong:
        raise UsageError(
            f"--out {wrong[0]}: several models are reported as a comparison, in .html, .md or .json;"
            " `rung report RUN` writes the other reports of each run"
        )


def _is_begun(options: RunOptions, name: str | None) -> bool:
    """Whether this model's run is there to go on with; one that an interruption kept from starting is made anew."""
    return options.resume and name is not None and (options.runs / name / "facts.json").is_file()


def _slug(model: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model)
