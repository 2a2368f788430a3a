"""Fixtures: what data a query runs on, from a path or a URL, made ready for the engine that reads the query's dialect."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FixtureKind = Literal["sqlite", "duckdb", "postgres", "mongo"]


@dataclass(frozen=True)
class Fixture:
    """Data to run queries on.

    Attributes:
        kind: the engine.
        path: the database file, for engines that have one.
        url: the server, for engines that have one.
        database: for MongoDB, the database on it.
    """

    kind: FixtureKind
    path: Path | None = None
    url: str | None = field(default=None, repr=False)
    database: str | None = None

    @property
    def key(self) -> str:
        """What tells it from others."""
        return f"{self.kind}:{self.path or self.url}:{self.database or ''}"

    def close(self) -> None:
        """Nothing to give back."""


def open_fixture(place: str | Path, dialect: str | None) -> Fixture:
    """The fixture at a path or URL."""
    text = str(place)
    if text.startswith("sqlite:///"):
        return Fixture("sqlite", path=Path(text.removeprefix("sqlite:///")))
    if text.startswith(("postgresql://", "postgres://")):
        return Fixture("postgres", url=text)
    return Fixture("sqlite", path=Path(text))
