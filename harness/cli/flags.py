"""The flags that several commands share, each said once."""

from pathlib import Path
from typing import Annotated

import typer

Golden = Annotated[Path | None, typer.Option("--in", help="The golden file (CSV).")]
Config = Annotated[Path | None, typer.Option(help="Vocabulary config, or DDL, of rows that name none.")]
Backend = Annotated[str | None, typer.Option(help="Backend of rows that name none: sql, mysql, sqlite, mongo, …")]
Only = Annotated[list[str] | None, typer.Option(help="Only cases with one of these tags (tag,tag).")]
Ids = Annotated[list[str] | None, typer.Option(help="Only these cases (id,id).")]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many cases.")]
Target = Annotated[
    str | None, typer.Option(help="What is scored: queryforge, prompt, recorded, command, python, http.")
]
Answers = Annotated[Path | None, typer.Option(help="Target recorded: a CSV or JSONL file of answers.")]
Command = Annotated[str | None, typer.Option(help="Target command: a program, JSON on stdin and stdout.")]
Function = Annotated[str | None, typer.Option(help="Target python: module:function.")]
Url = Annotated[str | None, typer.Option(help="Target http: the service's URL.")]
MaxRepairs = Annotated[int | None, typer.Option(min=0, help="Repairs that QueryForge may ask for (default 2).")]
Model = Annotated[str | None, typer.Option(help="The model's name (default: the config's).")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", help="The model's name (default: the config's); given several times, the models are compared."
    ),
]
BaseUrl = Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint, as far as /v1.")]
ApiKeyEnv = Annotated[str | None, typer.Option(help="Environment variable that holds the key.")]
# RUNG_API_KEY is where a key belongs, so this option, which is only there to be refused, must not be read from it.
ApiKey = Annotated[str | None, typer.Option(hidden=True, envvar="RUNG_KEY_ON_THE_COMMAND_LINE")]
LogLevel = Annotated[str | None, typer.Option(help="Log lines on stderr: debug, info, warning or error.")]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature (default: the config's, else 0).")]
Seed = Annotated[int | None, typer.Option(help="Sampling seed, sent where given.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens of one reply, sent where given.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds that one request may take.")]
Retries = Annotated[int | None, typer.Option(min=0, help="Further tries of a call that failed in transport.")]
Rpm = Annotated[float | None, typer.Option(help="Calls a minute, evenly spaced.")]
Tpm = Annotated[float | None, typer.Option(help="Tokens a minute.")]
Price = Annotated[str | None, typer.Option(help="IN/OUT per million tokens, such as 0.15/0.60.")]
MaxCost = Annotated[float | None, typer.Option(help="Stop once so much is spent; needs --price.")]
Deadline = Annotated[float | None, typer.Option(help="Seconds that the whole run may take.")]
Record = Annotated[Path | None, typer.Option(help="Write a tape of the model's replies.")]
Replay = Annotated[Path | None, typer.Option(help="Answer from a tape; no model is called.")]
Repeat = Annotated[int | None, typer.Option(min=1, help="Attempts per case; a case passes if all do.")]
Parallel = Annotated[int | None, typer.Option(min=1, help="Attempts in flight at a time (default 4).")]
Now = Annotated[str | None, typer.Option(help="Clock of cases that pin none, ISO 8601 (default: the start).")]
Exec = Annotated[str | None, typer.Option("--exec", help="Fixture to run both queries on: URL or path.")]
ExecMode = Annotated[str | None, typer.Option(help="annotate (default), require or promote.")]
Columns = Annotated[str | None, typer.Option(help="any (default), or ordered: columns in another order differ.")]
NoWitness = Annotated[bool, typer.Option("--no-witness", help="Look for no rows that tell two queries apart.")]
WordsRefuse = Annotated[
    bool | None,
    typer.Option("--words-refuse/--no-words-refuse", help="Whether words without a query are a refusal (default yes)."),
]
Name = Annotated[str | None, typer.Option(help="Name of the run's folder.")]
Runs = Annotated[Path | None, typer.Option(help="Folder that holds the runs (default runs).")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run --name, else the latest.")]
RetryErrors = Annotated[bool, typer.Option("--retry-errors", help="With --resume: ask again what failed in transport.")]
Out = Annotated[list[Path] | None, typer.Option(help="Write a report, by extension; repeatable.")]
FailUnder = Annotated[str | None, typer.Option(help="Exit 0 from this rate on (0.9 or 90%).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check golden file and configs; call no model.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Report every case and every failure.")]
