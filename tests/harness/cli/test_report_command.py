"""`rung report`: every format of a run again from its folder."""

import pytest

from harness.cli import main
from harness.report.formats import REPORTERS
from tests import synthetic_runs as made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made.stored(made.sample_run(3), tmp_path_factory.mktemp("runs") / "nightly")


@pytest.mark.parametrize("extension", sorted(REPORTERS))
def test_a_report_of_the_folder_is_the_report_of_the_run(folder, tmp_path, extension, capsys):
    path = tmp_path / f"again{extension}"
    assert main(["report", str(folder), "--out", str(path)]) == 0
    from harness.report.formats import reporter_for
    from harness.runs.folder import open_run

    reporter_for(path).write(open_run(folder), tmp_path / f"once{extension}")
    assert path.read_bytes() == (tmp_path / f"once{extension}").read_bytes()
    assert b"S20" in path.read_bytes()
    assert capsys.readouterr().out == ""


def test_several_formats_at_once(folder, tmp_path, capsys):
    names = [tmp_path / name for name in ("r.html", "r.md", "r.xml")]
    assert main(["report", str(folder), *(f"-out={name}" for name in names)]) == 0
    assert [name.exists() for name in names] == [True, True, True]
    assert capsys.readouterr().err.count("wrote ") == 3


def test_without_a_file_it_prints(folder, capsys):
    assert main(["report", str(folder)]) == 0
    assert "13" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["absent"], "no run here"), (["nightly", "--out", "r.pdf"], "--out r.pdf: no report has this extension")],
)
def test_a_mistake_is_said_in_words(folder, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(folder.parent)
    assert main(["report", *arguments]) == 2
    assert message in capsys.readouterr().err
