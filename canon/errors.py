"""The one exception that canon raises."""

from canon.verdict import Problem, ProblemKind, Side


class ReadError(ValueError):
    """A text is no single readable query.

    Attributes:
        kind: what is the matter, from the closed list of problems.
        message: one line for a person.
    """

    def __init__(self, kind: ProblemKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    def problem(self, side: Side | None) -> Problem:
        """The error as a value, told of one side of a pair."""
        return Problem(kind=self.kind, side=side, message=self.message)
