"""The tree of exceptions for the caller's mistakes and for broken surroundings. Errors that are the data's are values.

RungError
├── UsageError            an option or a combination of options that cannot be meant
├── InputError            a file that cannot be used; carries every problem found in it
│   ├── GoldenError       a golden file
│   └── VocabularyError   a vocabulary config
├── EndpointError         a model endpoint that cannot be reached or used at all
├── TargetError           a target that cannot be started
├── JournalError          a journal that cannot be read or belongs to another run
├── SandboxError          a sandbox that cannot be set up safely, or a fixture that cannot be loaded
└── MissingExtraError     an optional package that this needs is not installed
"""

from harness.types.problems import FileProblem


class RungError(Exception):
    """Base of every error that a user may see; its text is written for that user."""


class UsageError(RungError):
    """An option, or a combination of options, that cannot be meant."""


class InputError(RungError):
    """A file that cannot be used.

    Attributes:
        problems: everything that is wrong, in the order of the file.
    """

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class GoldenError(InputError):
    """A golden file that cannot be used."""


class VocabularyError(InputError):
    """A vocabulary config that cannot be used."""


class EndpointError(RungError):
    """A model endpoint that cannot be reached or used at all."""


class TargetError(RungError):
    """A target that cannot be started."""


class JournalError(RungError):
    """A journal that cannot be read, or that belongs to another run."""


class SandboxError(RungError):
    """A sandbox that cannot be set up safely, or a fixture that cannot be loaded."""


class MissingExtraError(RungError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, wanted_for: str) -> None:
        super().__init__(f"{wanted_for} needs the package {package}: pip install 'rung[{extra}]'")
