"""What running one answer on a fixture gave."""

from harness.types.frozen import Frozen
from harness.types.outcomes import ExecutionOutcome
from harness.types.results import ExecutionResult


class Observation(Frozen):
    """An answer that was run.

    Attributes:
        engine: engine and version.
        failure: why there is no complete result, `None` where there is one.
        result: the rows, or the error.
    """

    engine: str
    failure: ExecutionOutcome | None
    result: ExecutionResult
