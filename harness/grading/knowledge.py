"""What the configs of cases say of their data: a vocabulary's fields, or the tables of a DDL file."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from canon.errors import ReadError
from canon.schema import Schema
from harness.corpus.configs import Config, DdlConfig, load_config
from harness.errors import VocabularyError
from harness.types.cases import Case
from harness.types.problems import FileProblem

if TYPE_CHECKING:
    from canon.mongo.fields import Field as MongoField


class ConfigKnowledge:
    """Reads each config once, when the first case asks for it."""

    def __init__(self) -> None:
        self._configs: dict[Path, Config] = {}
        self._schemas: dict[tuple[Path, str], Schema] = {}
        self._fields: dict[Path, Mapping[str, MongoField | str]] = {}

    def schema(self, case: Case) -> Schema | None:
        """The tables that the case's config declares, in the case's dialect; `None` without a config.

        Raises:
            VocabularyError: the config cannot be used.
        """
        if case.config is None or case.backend == "mongo":
            return None
        key = (case.config, case.backend)
        if key not in self._schemas:
            self._schemas[key] = self._read(case.config, case.backend)
        return self._schemas[key]

    def fields(self, case: Case) -> "Mapping[str, MongoField | str] | None":
        """The paths that the case's config declares; `None` without a config.

        Raises:
            VocabularyError: the config cannot be used.
        """
        if case.config is None or case.backend != "mongo":
            return None
        if case.config not in self._fields:
            config = self._config(case.config)
            if isinstance(config, DdlConfig):
                return None
            self._fields[case.config] = config.mongo_fields()
        return self._fields[case.config]

    def collection(self, case: Case) -> str | None:
        """What the case's config calls the collection of its documents; `None` for tables, or without a config.

        Raises:
            VocabularyError: the config cannot be used.
        """
        if case.config is None or case.backend != "mongo":
            return None
        config = self._config(case.config)
        return None if isinstance(config, DdlConfig) else config.table_name(case.backend)

    def _config(self, path: Path) -> Config:
        if path not in self._configs:
            self._configs[path] = load_config(path)
        return self._configs[path]

    def _read(self, path: Path, backend: str) -> Schema:
        config = self._config(path)
        if not isinstance(config, DdlConfig):
            return config.schema(backend)
        from canon.sql.ddl import read_schema

        try:
            return read_schema(config.text, backend)
        except ReadError as error:
            problem = FileProblem(path=path, line=None, column=None, message=f"no {backend} DDL: {error.message}")
            raise VocabularyError((problem,)) from error
