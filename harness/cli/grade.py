"""`rung grade`: grade answers that exist already, without calling a model."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import flags


def grade(
    context: typer.Context,
    answers: Annotated[Path, typer.Argument(help="Predictions (CSV or JSONL), or the folder of an earlier run.")],
    *,
    golden: flags.Golden = None,
    config: flags.Config = None,
    backend: flags.Backend = None,
    only: flags.Only = None,
    ids: flags.Ids = None,
    limit: flags.Limit = None,
    repeat: flags.Repeat = None,
    now: flags.Now = None,
    exec_url: flags.Exec = None,
    exec_mode: flags.ExecMode = None,
    columns: flags.Columns = None,
    no_witness: flags.NoWitness = False,
    words_refuse: flags.WordsRefuse = None,
    name: flags.Name = None,
    runs: flags.Runs = None,
    resume: flags.Resume = False,
    out: flags.Out = None,
    fail_under: flags.FailUnder = None,
    as_json: flags.Json = False,
    quiet: flags.Quiet = False,
    verbose: flags.Verbose = False,
    log_level: flags.LogLevel = None,
) -> None:
    """Grade answers that exist already, without calling a model. An earlier run brings its own cases, unless --in."""
    from harness.cli.running import log_to_stderr, read_options, read_output, report_run
    from harness.runs.earlier import asked_earlier

    log_to_stderr(log_level)
    params = {**context.params, **asked_earlier(answers, golden)}
    raise typer.Exit(report_run(read_options(params), read_output(params)))
