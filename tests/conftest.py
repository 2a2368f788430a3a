"""Servers that tests of every folder share: started when the first test asks, stopped at the end of the session."""

from collections.abc import Iterator

import pytest

from harness.sandbox.embedded import EmbeddedMongo, EmbeddedPostgres


@pytest.fixture(scope="session")
def embedded_postgres() -> Iterator[EmbeddedPostgres]:
    """A running PostgreSQL server; `create_database()` gives an empty database of one's own."""
    with EmbeddedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(embedded_postgres: EmbeddedPostgres) -> str:
    """URL of the superuser on a database that the tests share."""
    return embedded_postgres.create_database()


@pytest.fixture(scope="session")
def embedded_mongo() -> Iterator[EmbeddedMongo]:
    """A running server that speaks MongoDB's wire protocol and asks for no login."""
    with EmbeddedMongo() as server:
        yield server


@pytest.fixture(scope="session")
def mongo_uri(embedded_mongo: EmbeddedMongo) -> str:
    """URI of a MongoDB-wire server; use a database name of your own."""
    return embedded_mongo.uri
