"""Evaluation from one's own test suite: a case on a test, an assertion on what a target answers, scorers."""

from harness.testing.asserting import EvalFailed, assert_eval, evaluate
from harness.testing.marking import eval_case

__all__ = ["EvalFailed", "assert_eval", "eval_case", "evaluate"]
