"""A run from the command line to its files: the demo, the spelling of qfeval, statuses, JSON, predictions, reports."""

import csv
import json
import socket
from pathlib import Path

import pytest

from harness.endpoint.scripted.script import Match, Script, ScriptedResponse, ScriptLine
from harness.endpoint.scripted.server import ScriptedServer
from tests.e2e.commands import ORDERS, ROOT, People, called, rung

LADDER = {"EXACT": 4, "EQUIVALENT": 17, "REFUSED": 3, "FAIL": 1, "ERROR": 0}


def orders(base_url: str) -> list[object]:
    corpus = ["-in", ORDERS / "golden.csv", "-config", ORDERS / "config.json"]
    return [*corpus, "-model", "scripted", "-base-url", base_url]


def test_the_demo_shows_the_ladder_says_scripted_and_exits_0(tmp_path: Path) -> None:
    done = rung(tmp_path, "demo")
    assert done.status == 0, done.err
    for grade, number in LADDER.items():
        (line,) = [line for line in done.out.splitlines() if line.strip().startswith(grade + " ")]
        assert line.split()[2] == str(number)
    assert "Scripted answers: this run shows the program, it measures no model." in done.out
    assert "list what was neither cancelled nor refunded" in done.out
    assert "rung run -in " in done.out
    assert "\x1b" not in done.out + done.err


def test_the_demo_executes_its_cases(tmp_path: Path) -> None:
    done = rung(tmp_path, "demo")
    assert "execution match 21, mismatch 1" in done.out
    assert "mismatch on duckdb" in done.out
    assert "contradiction" not in done.out


def test_the_demo_runs_the_corpus_for_models_that_write_sql(tmp_path: Path) -> None:
    done = rung(tmp_path, "demo", "--corpus", "shop")
    assert done.status == 0, done.err
    assert "21 of 30 cases passed" in done.out
    assert "execution match 19, mismatch 7" in done.out
    assert rung(tmp_path, "demo", "--corpus", "none").status == 2


@pytest.mark.parametrize(
    ("flag", "grade", "shown"), [("--words-refuse", "REFUSED", 1), ("--no-words-refuse", "ERROR", 0)]
)
def test_words_refuse_only_where_that_is_wanted(tmp_path: Path, flag: str, grade: str, shown: int) -> None:
    (tmp_path / "g.csv").write_text("id,nl,backend,expect_error\na,what is love,sqlite,unsupported\n")
    (tmp_path / "a.jsonl").write_text('{"id": "a", "raw": "Sorry, that is not in the data."}\n')
    done = rung(tmp_path, "grade", "a.jsonl", "--in", "g.csv", flag, "--json")
    assert done.document["grades"][grade] == 1, done.err
    said = [warned["message"] for warned in done.document["warnings"]]
    assert sum(message.startswith("refusal by words") for message in said) == shown


@pytest.mark.parametrize("echo", [200, 401, 503])
def test_no_key_is_in_any_file_or_stream_of_a_run(tmp_path: Path, echo: int) -> None:
    people = People(tmp_path / "people", 2).write()
    key, password, query = "canary-4f1d9c77", "canary-pass-19", "canary-query-88"
    error = {"error": {"message": f"bad {key} at http://me:{password}@h/?key={query}"}}
    reply = (
        ScriptedResponse(content=f"SELECT '{key}', '{password}'", reasoning=key)
        if echo == 200
        else ScriptedResponse(status=echo, body=error)
    )
    script = Script(
        ScriptLine(id=f"p{n}", match=Match(sentence=f"people older than {n} years"), responses=(reply,))
        for n in range(2)
    )
    with ScriptedServer(script) as server:
        url = server.base_url.replace("http://", f"http://me:{password}@") + f"?key={query}"
        flags = ["--name", "r", "--retries", 0, "--log-level", "debug", "--record", "tape.jsonl", "--api-key-env", "K"]
        outs = [word for kind in ("csv", "jsonl", "html", "md", "xml") for word in ("--out", f"o.{kind}")]
        done = rung(tmp_path, "run", *people.flags(url), *flags, *outs, K=key)
        assert server.count >= 2
    assert (tmp_path / "runs" / "r" / "journal.jsonl").is_file(), done.err
    texts = {str(path): path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()}
    for name, text in {**texts, "out": done.out, "err": done.err}.items():
        assert "canary" not in text, name


def test_the_transcript_in_the_readme_is_what_the_demo_prints(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.split("$ rung demo\n")[1].split("```")[0]
    printed = rung(tmp_path, "demo").out
    for line in shown.split("Failures\n")[0].splitlines()[1:]:
        assert line in printed.splitlines()
    assert "list what was neither cancelled nor refunded" in shown


def test_the_kept_run_reads_back_as_it_was_written() -> None:
    done = called(ROOT, "report", "results/orders-scripted")
    assert done.status == 0, done.err
    assert "24 of 25 cases passed, 96 %" in done.out
    assert "Scripted answers" in done.out


def test_run_on_the_same_corpus_exits_1_and_its_files_say_the_same(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        done = rung(
            tmp_path, "run", *orders(server.base_url), "--json", "-out", "r.csv", "-out", "r.jsonl", "--name", "one"
        )
    assert done.status == 1, done.err
    assert done.document["grades"] == LADDER
    assert (done.document["repairs"], done.document["retries"]) == (1, 1)
    assert done.document["run"]["name"] == "one"
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counted = {grade: sum(row["grade"] == grade for row in rows) for grade in LADDER}
    assert counted == LADDER
    assert len((tmp_path / "r.jsonl").read_text("utf-8").splitlines()) == 25
    summary = json.loads((tmp_path / "runs" / "one" / "summary.json").read_text("utf-8"))
    assert summary == {name: value for name, value in done.document.items() if name != "run"}


def test_the_spelling_of_qfeval_works_as_it_stands(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        done = rung(
            tmp_path, "run", "-in", ORDERS / "golden.csv", "-config", ORDERS / "config.json", "-model", "M",
            "-repeat", "5", "-rpm", "6000", "-only", "refusal,relative-date", "-out", "r.csv",
            RUNG_BASE_URL=server.base_url,
        )  # fmt: skip
    assert done.status == 0, done.err
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["grade"], row["passes"], row["repeats"]) for row in rows] == (
        [("EQUIVALENT", "5", "5")] * 3 + [("REFUSED", "5", "5")] * 3
    )


def test_settings_of_the_folder_are_enough(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        (tmp_path / "rung.toml").write_text(
            f'in = "{ORDERS}/golden.csv"\nconfig = "{ORDERS}/config.json"\n'
            f'model = "M"\nbase-url = "{server.base_url}"\n'
            '[run]\nonly = ["refusal"]\njson = true\n'
        )
        done = rung(tmp_path, "run")
    assert (done.status, done.document["cases"]) == (0, 3)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (["-only", "refusal"], 0, ""),
        (["-only", "negation"], 1, ""),
        (["-only", "negation", "--fail-under", "50%"], 0, ""),
        (["-only", "negation", "--fail-under", "0.51"], 1, ""),
        (["-only", "refusals"], 2, "no case of .* has the tag `refusals`; did you mean `refusal`?"),
        (["-ids", "Q99"], 2, "has the id `Q99`"),
        (["-out", "r.xlsx"], 2, "--out r.xlsx: no report has this extension"),
        (["-exec-mode", "always"], 2, "--exec-mode: input should be 'annotate', 'require' or 'promote'"),
        (["-now", "yesterday"], 2, "--now 'yesterday': write an instant such as 2026-08-04"),
        (["-fail-under", "most"], 2, "--fail-under 'most': write a rate"),
        (["-retry-errors"], 2, "it needs --resume"),
        (["--api-key", "sk-canary"], 2, "--api-key is refused"),
        (["-log-level", "loud"], 2, "--log-level 'loud': choose one of debug, info, warning, error"),
        (["-record", "t", "-replay", "t"], 2, "--record and --replay exclude each other"),
        (["-target", "queryfroge"], 2, "did you mean queryforge?"),
        (["-in", "none.csv"], 2, "none.csv: "),
        (["-config", "none.json"], 2, "none.json: no such file"),
    ],
)
def test_exit_status_and_what_is_said(tmp_path: Path, argv: list[str], status: int, said: str) -> None:
    import re

    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        done = called(tmp_path, "run", *orders(server.base_url), *argv)
    assert done.status == status, done.out + done.err
    assert re.search(said, done.err)
    assert "Traceback" not in done.err
    assert "sk-canary" not in done.err
    if status == 2:
        assert done.out == ""
        assert not (tmp_path / "runs").exists()


def test_an_endpoint_that_nobody_answers_at_exits_3(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    done = rung(tmp_path, "run", *orders(url), "-retries", "0", "-only", "simple")
    assert done.status == 3
    assert "3 of 3" not in done.out
    assert "transport" in done.out


def test_without_a_model_a_run_says_what_is_missing(tmp_path: Path) -> None:
    done = called(tmp_path, "run", "-in", ORDERS / "golden.csv", "-config", ORDERS / "config.json")
    assert (done.status, done.out) == (2, "")
    assert "no model is named: --model NAME" in done.err


def test_a_dry_run_needs_no_endpoint_and_counts(tmp_path: Path) -> None:
    done = called(tmp_path, "run", "-in", ORDERS / "golden.csv", "-config", ORDERS / "config.json", "-dry-run", "-json")
    assert done.status == 0, done.err
    assert done.document["against_itself"] == {"EXACT": 22, "EQUIVALENT": 0, "REFUSED": 3, "FAIL": 0, "ERROR": 0}
    assert (done.document["cases"], done.document["unpinned"], done.document["calls"]) == (25, 0, 25)
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_names_every_problem_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("id,nl,backend,expect_sql\na,one,sqlite,SELEC 1\na,two,sqlite,\n")
    done = called(tmp_path, "run", "-in", "g.csv", "-dry-run")
    assert done.status == 2
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["g.csv:2", "g.csv:3", "g.csv:3"]


def test_predictions_are_graded_without_a_model(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 20).write()
    lines = [{"id": f"p{n}", "sql": f"SELECT name FROM people WHERE {n} < age"} for n in range(19)]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = called(tmp_path, "grade", "predictions.jsonl", "-in", people.golden, "-config", people.ddl, "-json")
    assert done.status == 1, done.err
    assert done.document["grades"] == {"EXACT": 0, "EQUIVALENT": 19, "REFUSED": 0, "FAIL": 0, "ERROR": 1}
    assert done.document["reasons"] == {"empty": 1}


def test_an_earlier_run_is_graded_again_by_other_rules(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 20).write()
    with ScriptedServer(people.script()) as server:
        first = called(tmp_path, "run", *people.flags(server.base_url), "--json", "--name", "one", "--repeat", "2")
        asked = server.count
    again = called(tmp_path, "grade", "runs/one", "--json", "--name", "again")
    assert server.count == asked == 40
    for name in ("grades", "attempts", "bases"):
        assert again.document[name] == first.document[name]
    assert (first.status, again.status) == (1, 1)


def test_an_earlier_run_says_nothing_of_a_sentence_that_it_was_not_asked(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 3).write()
    with ScriptedServer(people.script()) as server:
        called(tmp_path, "run", *people.flags(server.base_url), "--name", "one")
    people.golden.write_text(people.golden.read_text().replace("older than 1 years", "older than one year"))
    again = called(tmp_path, "grade", "runs/one", "--json")
    assert again.document["reasons"] == {"empty": 1}


def test_stdout_is_the_report_and_stderr_the_rest(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        loud = rung(tmp_path, "run", *orders(server.base_url), "-only", "scope", "--name", "loud")
        quiet = rung(tmp_path, "run", *orders(server.base_url), "-only", "scope", "-quiet")
    assert loud.err == "kept in runs/loud\n"
    assert quiet.err == ""
    assert quiet.out.startswith("rung  ")


def test_init_writes_what_a_dry_run_takes(tmp_path: Path) -> None:
    assert called(tmp_path, "init", "mine").status == 0
    checked = called(tmp_path / "mine", "run", "-dry-run", "-json")
    assert checked.status == 0, checked.err
    assert checked.document["against_itself"]["EXACT"] == 2
    again = called(tmp_path, "init", "mine")
    assert again.status == 2
    assert "there already: " in again.err
    assert called(tmp_path, "init", "mine", "--force").status == 0


def test_pairs_answers_each_line_in_order(tmp_path: Path) -> None:
    lines = [
        {"id": 1, "a": "SELECT a FROM t WHERE a > 1", "b": "SELECT a FROM t WHERE 1 < a"},
        {"id": 2, "a": "SELECT a FROM t", "b": "DROP TABLE t"},
        {"id": 3, "a": '{"a": 1}', "b": '{"a": 2}', "kind": "mongo"},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = rung(tmp_path, "pairs", "pairs.jsonl", "-parallel", "2")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [(answer["id"], answer["relation"]) for answer in answers] == [
        (1, "equivalent"), (2, "undecided"), (3, "different")
    ]  # fmt: skip
    assert (done.status, done.err) == (0, "")
    written = rung(tmp_path, "pairs", "pairs.jsonl", "--out", "answers.jsonl")
    assert (written.status, written.out) == (0, "")
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 3
    assert rung(tmp_path, "pairs", "none.jsonl").status == 2


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (["SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE 1 < a"], 0, "the same meaning"),
        (["SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a > 2"], 1, "data on which the two differ"),
        (["SELECT 1", "SELECT 1;"], 0, "the same text"),
        (["SELEC 1", "SELECT 1"], 1, "a: "),
        (['{"a": 1}', "{a: 1}", "-dialect", "mongo"], 0, "the same meaning"),
        (["@one.sql", "SELECT 1"], 0, "the same text"),
        (["@none.sql", "SELECT 1"], 2, ""),
        (["SELECT 1", "SELECT 2", "-schema", "none.sql"], 2, ""),
        (["SELECT 1", "SELECT 2", "-star", "all"], 2, ""),
        (["SELECT a FROM t WHERE a > $1", "SELECT a FROM t WHERE a > 2", "-args-a", "[2]"], 0, "the same meaning"),
        (["SELECT 1", "SELECT 2", "-args-a", "2]"], 2, ""),
    ],
)
def test_explain(tmp_path: Path, argv: list[str], status: int, said: str) -> None:
    (tmp_path / "one.sql").write_text("SELECT 1\n")
    done = called(tmp_path, "explain", *argv)
    assert done.status == status, done.err
    assert said in done.out
    assert "Traceback" not in done.err


def test_explain_as_json_is_the_answer_of_pairs(tmp_path: Path) -> None:
    done = called(tmp_path, "explain", "SELECT 1", "SELECT 1", "--json")
    assert {name: done.document[name] for name in ("relation", "basis", "error")} == {
        "relation": "identical",
        "basis": "identical",
        "error": None,
    }


def test_both_queries_are_run_on_a_fixture(tmp_path: Path) -> None:
    import sqlite3

    people = People(tmp_path / "people", 10).write()
    with sqlite3.connect(tmp_path / "people.db") as database:
        database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER)")
        database.executemany("INSERT INTO people (name, age) VALUES (?, ?)", [(f"n{age}", age) for age in range(20)])
    database.close()
    with ScriptedServer(people.script()) as server:
        done = called(tmp_path, "run", *people.flags(server.base_url), "--exec", "people.db", "--json")
    assert done.status == 1, done.err
    assert done.document["executions"] == {"match": 8, "mismatch": 1}
    assert done.document["warnings"] == []


def test_a_key_of_the_environment_is_in_no_file_and_no_stream(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        command = ["run", *orders(server.base_url), "-only", "scope", "-out", "r.csv", "-log-level", "debug"]
        done = rung(tmp_path, *command, RUNG_API_KEY="canary-5e1f-key")
        assert server.received[-1].headers["authorization"] == "Bearer canary-5e1f-key"
    assert done.status == 0, done.err
    assert "call ended" in done.err
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 5
    assert [text for text in (*written, done.out, done.err) if "canary" in text] == []


def test_a_tape_answers_a_run_without_its_endpoint(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        base_url = server.base_url
        first = called(tmp_path, "run", *orders(base_url), "-record", "t.jsonl", "-name", "first", "-json")
    again = called(tmp_path, "run", *orders(base_url), "-replay", "t.jsonl", "-name", "again", "-json")
    assert first.document["grades"] == again.document["grades"] == LADDER
    assert (first.document["run"]["replayed"], again.document["run"]["replayed"]) == (False, True)
    assert called(tmp_path, "report", "runs/again").out.splitlines()[1] == "Replayed from a tape: no model was called."


def test_several_models_are_run_and_compared(tmp_path: Path) -> None:
    with ScriptedServer(ORDERS / "replies.jsonl") as server:
        common = ["run", *orders(server.base_url), "-model", "other/one", "-out", "c.html", "-price", "1/2"]
        done = called(tmp_path, *common, "-name", "night", "-record", "t.jsonl", "-json")
    again = called(tmp_path, *common, "-name", "again", "-replay", "t.jsonl", "-json")
    assert done.status == again.status == 1
    (pair,) = done.document["pairs"]
    assert (pair["first"], pair["second"], pair["difference"]) == ("scripted", "other/one", 0.0)
    assert again.document["pairs"] == done.document["pairs"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        *("again-other-one", "again-scripted", "night-other-one", "night-scripted"),
    ]
    resumed = called(tmp_path, *common, "-name", "night", "-replay", "t.jsonl", "-resume", "-json")
    assert resumed.document["pairs"] == done.document["pairs"]
    assert "No difference shown between" in (tmp_path / "c.html").read_text("utf-8")
    assert json.loads((tmp_path / "runs/again-other-one/facts.json").read_text("utf-8"))["replayed"] is True


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-model", "a", "-model", "a"], "a model is named twice"),
        (["-model", "a", "-model", "b", "-out", "r.xml"], "reported as a comparison, in .html, .md or .json"),
        (["-model", "a", "-model", "b", "-resume"], "--name"),
        (["-model", "a/b", "-model", "a b", "-name", "n"], "a model is named twice"),
    ],
)
def test_what_several_models_cannot_mean_is_refused_before_a_call(tmp_path: Path, more: list[str], said: str) -> None:
    done = called(tmp_path, "run", *orders("http://127.0.0.1:9/v1")[:4], "-base-url", "http://127.0.0.1:9/v1", *more)
    assert done.status == 2
    assert said in done.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["golden.csv", "golden-postgres.csv"])
def test_the_bundled_shop_is_as_it_should_be(tmp_path: Path, name: str) -> None:
    shop = ORDERS.parent / "shop"
    done = called(tmp_path, "run", "-in", shop / name, "-config", shop / "schema.sql", "-dry-run", "-json")
    assert done.status == 0, done.err
    assert done.document["cases"] == 30
    graded = done.document["against_itself"]
    assert graded["EXACT"] + graded["REFUSED"] == 30
