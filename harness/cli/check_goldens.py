"""`rung check-goldens`: audit a golden file against its fixtures."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.audit.auditing import Auditor


def check_goldens(
    golden: Annotated[Path, typer.Argument(help="The golden file.")],
    *,
    exec_: Annotated[
        list[str] | None,
        typer.Option(
            "--exec", help="Fixture: a SQLite or DuckDB database, a file of SQL, documents as .jsonl. Repeatable."
        ),
    ] = None,
    backend: Annotated[str | None, typer.Option(help="Backend of rows that name none (default sql).")] = None,
    config: Annotated[Path | None, typer.Option(help="Config of rows that name none.")] = None,
    now: Annotated[str | None, typer.Option(help="Pinned clock of rows that pin none, ISO 8601.")] = None,
    adequacy: Annotated[bool, typer.Option(help="Mutate the goldens to see what the fixture shows.")] = True,
    min_adequacy: Annotated[
        float | None, typer.Option(min=0, max=1, help="Fail below this share of mutants told apart, 0 to 1.")
    ] = None,
    write_fixture: Annotated[
        Path | None, typer.Option(help="Write the fixture with the rows that it lacks to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of the report.")] = False,
) -> None:
    """Audit a golden file. Exit status 0 = nothing to mend, 1 = errors or warnings, 2 = it cannot be audited."""
    from harness.audit.auditing import Auditor, resolved
    from harness.audit.printing import print_audit
    from harness.corpus.golden_csv import open_corpus
    from harness.runs.options import read_instant

    if (min_adequacy is not None or write_fixture is not None) and not exec_:
        raise UsageError("--min-adequacy and --write-fixture need a fixture: --exec")
    corpus = open_corpus(golden, backend=backend, config=config)
    auditor = Auditor(
        fixtures=tuple(exec_ or ()), adequacy=adequacy and bool(exec_), now=read_instant("--now", now) if now else None
    )
    audit = auditor.audit(str(golden), resolved(corpus.cases()))
    if as_json:
        sys.stdout.write(audit.model_dump_json(indent=2) + "\n")
    else:
        print_audit(audit, sys.stdout)
    if write_fixture is not None:
        _write(auditor, write_fixture)
    share = audit.adequacy.share if audit.adequacy is not None else None
    short = min_adequacy is not None and (share is None or share < min_adequacy)
    if short:
        said = "not known" if share is None else f"{share:.1%}"
        sys.stderr.write(f"the fixture's adequacy is {said}, below --min-adequacy {min_adequacy:.1%}\n")
    raise typer.Exit(1 if audit.failed or short else 0)


def _write(auditor: "Auditor", target: Path) -> None:
    from harness.audit.adequacy import rows_to_add
    from harness.audit.fixtures import write_fixture

    fixtures = auditor.table_fixtures
    if len(fixtures) != 1:
        raise UsageError(f"--write-fixture writes one fixture of tables, and the cases use {len(fixtures)}")
    added, left = rows_to_add(auditor.survivors, fixtures[0])
    write_fixture(fixtures[0], added, target)
    count = sum(map(len, added.values()))
    sys.stderr.write(f"{target}: {count} rows added; {len(left)} mutants are still not told apart\n")
    for survivor in left:
        sys.stderr.write(f"  {survivor.case_id}: {survivor.change}\n")
