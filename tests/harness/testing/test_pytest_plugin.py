"""The pytest plugin, run on projects of its users."""

import pytest

pytest_plugins = ["pytester"]

GOLDEN = """id,nl,backend,expect_sql,tags
A,cancelled,sqlite,SELECT id FROM t WHERE s = 'x',enum;two words
B,big,sqlite,SELECT id FROM t WHERE a > 3,numeric
"""
SYSTEM = """
asked = []
def answer(request):
    asked.append(request["nl"])
    if request["nl"] == "cancelled":
        return "SELECT id FROM t WHERE 'x' = s"
    return "SELECT id FROM t WHERE a >= 3" if len(asked) > 2 else "SELECT id FROM t WHERE a > 3"
"""
STRICT = """
[pytest]
filterwarnings = error
addopts = --strict-markers
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.makefile(".csv", golden=GOLDEN)
    pytester.makepyfile(system=SYSTEM)
    pytester.makeini(STRICT)
    monkeypatch.syspath_prepend(pytester.path)
    return pytester


def test_a_golden_file_is_collected_with_its_tags_as_markers(project: pytest.Pytester) -> None:
    result = project.runpytest("--rung-golden", "golden.csv", "--rung-target", "system:answer", "-m", "two_words", "-v")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*golden.csv::A PASSED*", "1 of 1 cases passed, 1 attempts", "*two words*1/1"])


def test_repeats_are_honoured_and_failures_show_differences_and_witness(project: pytest.Pytester) -> None:
    args = ("--rung-golden", "golden.csv", "--rung-target", "system:answer", "--rung-repeat", "3", "-k", "B")
    result = project.runpytest(*args, "--rung-report", "report.html")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "B: big",
            "failed 1 of 3 repeats; the first:",
            "*expected*a > 3",
            "*answer*a >= 3",
            "*ladder: fail, refuted",
            "*bound inclusive instead of exclusive*",
            "*a row with a = 3*",
            "0 of 1 cases passed, 3 attempts",
            "report: report.html",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert "bound inclusive" in (project.path / "report.html").read_text(encoding="utf-8")


def test_it_works_under_xdist(project: pytest.Pytester) -> None:
    args = ("--rung-golden", "golden.csv", "--rung-target", "system:answer", "-n", "2", "--rung-report", "r.md")
    result = project.runpytest_subprocess(*args)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 of 2 cases passed, 2 attempts"])
    assert "All 2 cases passed" in (project.path / "r.md").read_text(encoding="utf-8")


def test_the_target_may_be_a_fixture(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def query():
            return "SELECT id FROM t WHERE s = 'x'"
        @pytest.fixture
        def rung_target(query):
            return lambda request: query
        """
    )
    project.runpytest("--rung-golden", "golden.csv").assert_outcomes(passed=1, failed=1)


def test_a_test_gets_its_cases(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_mine="""
        from harness import FirstDecisive, LadderScorer, ResultSetScorer, SemanticScorer, assert_eval, eval_case
        from system import answer

        @eval_case("big", expect_sql="SELECT id FROM t WHERE a > 3", id="big", tags=("numeric",))
        @eval_case("cancelled", expect_sql="SELECT id FROM t WHERE s = 'x'", id="first")
        def test_mine(case):
            assert_eval(case, answer, [LadderScorer(), FirstDecisive([SemanticScorer(), ResultSetScorer()])])
        """
    )
    result = project.runpytest("-v", "-p", "no:randomly")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*test_mine?big? PASSED*", "*test_mine?first? PASSED*", "resting on: identical 2, canonical 2"]
    )


def test_a_failing_test_shows_the_trail(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from harness import FirstDecisive, ResultSetScorer, SemanticScorer, assert_eval, eval_case

        @eval_case("big", expect_sql="SELECT id FROM t WHERE a > 3")
        def test_mine(case):
            assert_eval(case, "SELECT id FROM t WHERE a > 4", [FirstDecisive([SemanticScorer(), ResultSetScorer()])])
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*first decisive: inconclusive*",
            "*not shown to mean the same*",
            "*semantic: inconclusive",
            "*result set: inconc*",
        ]
    )


MISTAKES = {
    "no target": ((), "*say what the golden file is asked of*"),
    "no such function": (("--rung-target", "system:anser"), "*did you mean system:answer?*"),
    "no such target": (("--rung-target", "recordd"), "*did you mean recorded?*"),
}


@pytest.mark.parametrize(("args", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(project: pytest.Pytester, args: tuple[str, ...], said: str) -> None:
    result = project.runpytest("--rung-golden", "golden.csv", *args)
    result.stdout.fnmatch_lines([said])
    assert result.ret != 0


def test_a_broken_golden_file_is_a_usage_error(project: pytest.Pytester) -> None:
    project.makefile(".csv", broken="id,nl,expect_sql\nA,x,SELEC\n")
    result = project.runpytest("--rung-golden", "broken.csv")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*broken.csv:2: expect_sql*"])
    missing = project.runpytest("--rung-golden", "none.csv")
    missing.stderr.fnmatch_lines(["*--rung-golden none.csv: no such file*"])


def test_a_project_that_does_not_use_it_is_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys
        import pytest
        @pytest.fixture
        def case():
            return 3
        def test_own(case):
            assert case == 3
            assert not {"harness.api", "harness.testing", "canon.sql", "sqlglot"} & set(sys.modules)
        """
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*rung*cases passed*")


def test_the_case_fixture_says_what_it_lacks(project: pytest.Pytester) -> None:
    project.makepyfile("def test_mine(case): ...")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_mine asks for `case`: put @eval_case*"])
