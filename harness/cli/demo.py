"""`rung demo`: the bundled corpus through the whole pipeline, against a scripted endpoint on this machine."""

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from harness.cli import flags

_CONFIGS = MappingProxyType({"orders": "config.json", "shop": "schema.sql"})
"""The bundled corpora and what their sentences are asked by."""


def demo(
    context: typer.Context,
    *,
    corpus: Annotated[
        str, typer.Option(help="orders (QueryForge) or shop (a model that writes SQL itself).")
    ] = "orders",
    only: flags.Only = None,
    repeat: flags.Repeat = None,
    parallel: flags.Parallel = None,
    name: flags.Name = None,
    runs: flags.Runs = None,
    out: flags.Out = None,
    as_json: flags.Json = False,
    quiet: flags.Quiet = False,
    verbose: flags.Verbose = False,
    log_level: flags.LogLevel = None,
) -> None:
    """Run the bundled corpus against a scripted endpoint on this machine. It measures no model and gates nothing."""
    from harness.cli.running import log_to_stderr, read_options, read_output, report_run
    from harness.endpoint.scripted.server import ScriptedServer
    from harness.errors import UsageError
    from harness.runs.bundled import bundled_corpus
    from harness.runs.status import INTERRUPTED

    log_to_stderr(log_level)
    if corpus not in _CONFIGS:
        raise UsageError(f"no corpus is called {corpus}; there are {', '.join(_CONFIGS)}")
    folder = bundled_corpus(corpus)
    config = folder / _CONFIGS[corpus]
    output = read_output(context.params)
    with ScriptedServer(folder / "replies.jsonl") as server:
        asked = {
            "golden": folder / "golden.csv",
            "config": config,
            "model": "scripted",
            "base_url": server.base_url,
            # In process: a database server takes longer to start than everything else here together.
            "exec_url": "duckdb",
        }
        status = report_run(read_options({**context.params, **asked}), output, scripted=True)
    if status == INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if not output.as_json:
        sys.stdout.write(_next(folder, config))


def _next(folder: Path, config: Path) -> str:
    return f"""
The model above is a script. To ask a real one (its key in RUNG_API_KEY, any OpenAI-compatible endpoint):

  rung run -in {folder}/golden.csv -config {config} \\
           -model MODEL -base-url https://HOST/v1 -out results.csv
"""
