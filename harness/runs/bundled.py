"""The corpora that come with rung, in a checkout and in an installed package alike."""

from pathlib import Path

import harness
from harness.errors import UsageError


def bundled_corpus(name: str) -> Path:
    """The folder of a bundled corpus.

    Raises:
        UsageError: this installation has none of that name.
    """
    package = Path(harness.__file__).resolve().parent
    for goldens in (package / "goldens", package.parent / "goldens"):
        if (goldens / name / "golden.csv").is_file():
            found = goldens / name
            here = Path.cwd()
            # Reports and the record of the run name it; in a checkout they should name it as a user would.
            return found.relative_to(here) if found.is_relative_to(here) else found
    raise UsageError(f"the corpus {name} is not part of this installation; take it from the source distribution")
