"""Pairs spread over a Ray cluster: the same answers in the same order as on one process."""

import importlib.util
import json

import pytest

from harness.errors import MissingExtraError
from harness.grading.cluster import decide_on_cluster
from harness.grading.spreading import Deciding, decide_spread

RAY = importlib.util.find_spec("ray") is not None
LINES = [
    json.dumps(
        {"id": str(number), "a": f"SELECT a FROM t WHERE b > {number}", "b": f"SELECT a FROM t WHERE {number} < b"}
    )
    for number in range(600)
]


def verdicts(answers: list[str]) -> list[tuple[str, str]]:
    return [(answer["id"], answer["relation"]) for answer in map(json.loads, answers)]


@pytest.mark.skipif(not RAY, reason="the extra `ray` is not installed (pip install 'rung[ray]')")
@pytest.mark.filterwarnings("ignore")  # Ray's own warnings at start-up are not ours to mend
def test_a_cluster_answers_as_one_process_does() -> None:
    deciding = Deciding(witness=False)
    spread = verdicts(list(decide_on_cluster(LINES, deciding, "local")))
    assert spread == [(str(number), "equivalent") for number in range(600)]
    assert spread == verdicts(list(decide_spread(LINES, deciding, 1)))


@pytest.mark.skipif(RAY, reason="Ray is installed, so that nothing is missing")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'rung\[ray\]'"):
        list(decide_on_cluster(LINES, Deciding(), "local"))
