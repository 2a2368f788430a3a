"""`rung demo`: the bundled corpus through the whole pipeline, against a scripted endpoint on this machine."""

import sys

import typer

from harness.cli import flags


def demo(
    context: typer.Context,
    *,
    only: flags.Only = None,
    repeat: flags.Repeat = None,
    parallel: flags.Parallel = None,
    name: flags.Name = None,
    runs: flags.Runs = None,
    out: flags.Out = None,
    as_json: flags.Json = False,
    quiet: flags.Quiet = False,
    verbose: flags.Verbose = False,
) -> None:
    """Run the bundled corpus against a scripted endpoint on this machine. It measures no model and gates nothing."""
    from harness.cli.running import read_options, read_output, report_run
    from harness.endpoint.scripted.server import ScriptedServer
    from harness.runs.bundled import bundled_corpus
    from harness.runs.status import INTERRUPTED

    corpus = bundled_corpus("orders")
    output = read_output(context.params)
    with ScriptedServer(corpus / "replies.jsonl") as server:
        asked = {
            "golden": corpus / "golden.csv",
            "config": corpus / "config.json",
            "model": "scripted",
            "base_url": server.base_url,
            # In process: a database server takes longer to start than everything else here together.
            "exec_url": "duckdb",
        }
        status = report_run(read_options({**context.params, **asked}), output, scripted=True)
    if status == INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if not output.as_json:
        sys.stdout.write(_next(str(corpus)))


def _next(corpus: str) -> str:
    return f"""
The model above is a script. To ask a real one (its key in RUNG_API_KEY, any OpenAI-compatible endpoint):

  rung run -in {corpus}/golden.csv -config {corpus}/config.json \\
           -model MODEL -base-url https://HOST/v1 -out results.csv
"""
