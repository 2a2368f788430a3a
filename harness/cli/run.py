"""`rung run`: ask a target every sentence of a golden file, grade the answers, report."""

import typer

from harness.cli import flags


def run(
    context: typer.Context,
    *,
    golden: flags.Golden = None,
    config: flags.Config = None,
    backend: flags.Backend = None,
    only: flags.Only = None,
    ids: flags.Ids = None,
    limit: flags.Limit = None,
    target: flags.Target = None,
    answers: flags.Answers = None,
    command: flags.Command = None,
    function: flags.Function = None,
    url: flags.Url = None,
    max_repairs: flags.MaxRepairs = None,
    model: flags.Models = None,
    base_url: flags.BaseUrl = None,
    api_key_env: flags.ApiKeyEnv = None,
    api_key: flags.ApiKey = None,
    temperature: flags.Temperature = None,
    seed: flags.Seed = None,
    max_tokens: flags.MaxTokens = None,
    timeout: flags.Timeout = None,
    retries: flags.Retries = None,
    rpm: flags.Rpm = None,
    tpm: flags.Tpm = None,
    price: flags.Price = None,
    max_cost: flags.MaxCost = None,
    deadline: flags.Deadline = None,
    record: flags.Record = None,
    replay: flags.Replay = None,
    repeat: flags.Repeat = None,
    parallel: flags.Parallel = None,
    now: flags.Now = None,
    exec_url: flags.Exec = None,
    exec_mode: flags.ExecMode = None,
    columns: flags.Columns = None,
    no_witness: flags.NoWitness = False,
    words_refuse: flags.WordsRefuse = None,
    name: flags.Name = None,
    runs: flags.Runs = None,
    resume: flags.Resume = False,
    retry_errors: flags.RetryErrors = False,
    out: flags.Out = None,
    fail_under: flags.FailUnder = None,
    dry_run: flags.DryRun = False,
    as_json: flags.Json = False,
    quiet: flags.Quiet = False,
    verbose: flags.Verbose = False,
    log_level: flags.LogLevel = None,
) -> None:
    """Ask a target every sentence of a golden file, grade the answers, report."""
    from harness.cli.running import log_to_stderr, read_options, read_output, report_dry_run, report_run
    from harness.endpoint.settings import refuse_key_argument

    refuse_key_argument(api_key)
    log_to_stderr(log_level)
    models = model or []
    options = read_options({**context.params, "model": models[0] if models else None})
    output = read_output(context.params, comparison=len(models) > 1)
    if len(models) > 1:
        from harness.cli.several import compare_models, refuse_what_is_for_one

        refuse_what_is_for_one(options, models, output)
        if not dry_run:
            raise typer.Exit(compare_models(options, models, output))
    if dry_run:
        report_dry_run(options, output)
        return
    raise typer.Exit(report_run(options, output))
