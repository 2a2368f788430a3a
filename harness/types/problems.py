"""What is wrong with a file, said so that its author can mend it."""

from pathlib import Path
from typing import Literal

from harness.types.frozen import Frozen


class FileProblem(Frozen):
    """One problem in one file.

    Attributes:
        path: the file as the user named it.
        line: the physical line on which the row or value starts, counted from 1; `None` = the whole file.
        column: the column or key it is about, `None` where it is about the row.
        message: what is wrong and, where one is likely, the fix.
        severity: `error` stops the run, `warning` does not.
    """

    path: Path
    line: int | None
    column: str | None
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """`file:line: column: message`, the parts that are known."""
        place = f"{self.path}:{self.line}" if self.line is not None else str(self.path)
        return f"{place}: {self.column}: {self.message}" if self.column else f"{place}: {self.message}"
