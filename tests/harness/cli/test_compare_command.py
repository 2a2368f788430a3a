"""`rung compare`: run folders and results files in, verdict and reports out, exit status for CI."""

import json

import pytest

from harness.cli import main
from harness.report.tables import CsvReporter, JsonLinesReporter
from tests import synthetic_runs as made


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, seed, share in (("weak", 1, 0.6), ("strong", 2, 0.95)):
        run = made.large_run(60, seed=seed, pass_share=share, name=name, model=f"{name}-model")
        made.stored(run, folder / name)
        CsvReporter().write(run, folder / f"{name}.csv")
        JsonLinesReporter().write(run, folder / f"{name}.jsonl")
    return folder


@pytest.mark.parametrize("kind", ["", ".csv", ".jsonl"])
def test_folders_and_files_give_the_same_figures(runs, kind, capsys):
    assert main(["compare", str(runs / f"weak{kind}"), str(runs / f"strong{kind}"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    pair = document["pairs"][0]
    assert (pair["verdict"], len(pair["gained"]), len(pair["lost"])) == ("better", 21, 3)
    assert document["alignment"]["compared"] == 60
    labels = [side["label"] for side in document["sides"]]
    assert labels == (["weak", "strong"] if kind == ".csv" else labels)
    assert [side["prompt_tokens"] for side in document["sides"]] == [60 * 812, 60 * 812]


def test_a_folder_against_a_file_is_one_comparison(runs, capsys):
    assert main(["compare", str(runs / "weak"), str(runs / "weak.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["pairs"][0]["difference"] == 0
    assert document["alignment"]["changed"] == []


def test_data_on_stdout_and_notes_on_stderr(runs, tmp_path, capsys):
    out = [f"--out={tmp_path / name}" for name in ("c.html", "c.md", "c.json")]
    assert main(["compare", str(runs / "weak"), str(runs / "strong"), *out, "--price", "weak-model=1,2"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("strong-model is better than weak-model\n")
    assert [line.split(" ", 1)[0] for line in printed.err.splitlines()] == ["wrote"] * 3
    assert "strong-model is better than weak-model</h1>" in (tmp_path / "c.html").read_text("utf-8")
    assert (tmp_path / "c.md").read_text("utf-8").startswith("## strong-model is better than weak-model\n")
    document = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert document["sides"][0]["cost"] == pytest.approx((60 * 812 * 1 + 60 * 64 * 2) / 1e6)


@pytest.mark.parametrize(
    ("first", "second", "flags", "status"),
    [
        ("strong", "weak", ["--fail-if-worse"], 1),
        ("strong", "weak", ["-fail-if-worse", "-alpha", "0.0000001"], 0),
        ("strong", "weak", [], 0),
        ("weak", "strong", ["--fail-if-worse"], 0),
        ("weak", "weak", ["--fail-if-worse"], 0),
    ],
)
def test_the_exit_status_tells_ci(runs, first, second, flags, status, capsys):
    assert main(["compare", str(runs / first), str(runs / second), "--quiet", *flags]) == status
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weak"], "usage: a comparison needs two runs or more"),
        (["weak", "absent"], "no such run folder or results file"),
        (["weak", "."], "no run here"),
        (["weak", "strong", "--out", "c.pdf"], "usage: --out c.pdf: a comparison ends in .html, .md or .json"),
        (["weak", "strong", "--alpha", "2"], "usage: --alpha 2.0: write an error rate between 0 and 1"),
        (["weak", "strong", "--price", "x"], "usage: --price x: write model=in,out"),
        (["weak", "strong", "--price", "other=1,2"], "no run of that model or name; there are"),
        (["weak", "bad.csv"], "bad.csv:2: grade: GOOD: a grade is one of"),
    ],
)
def test_a_mistake_is_said_in_words(runs, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(runs)
    (runs / "bad.csv").write_text("id,grade\na,GOOD\n")
    assert main(["compare", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
