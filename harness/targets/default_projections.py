"""Resolves `<default>` in a case's expectation: the engine is asked once for each config and backend."""

from pathlib import Path

from harness.corpus.configs import DdlConfig, load_config
from harness.corpus.default_projection import uses_default, with_projection
from harness.errors import TargetError
from harness.targets.engine import ENGINE_BACKENDS, default_projection
from harness.types.cases import Case, ExpectSql


class DefaultProjections:
    """What each config compiles an empty query to, kept once it is known."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, str], str] = {}

    def resolve(self, case: Case) -> Case:
        """The case with `<default>` replaced in its expectation and alternatives; one without it as it is.

        Raises:
            TargetError: the engine cannot be asked: no config, DDL, a dialect that it does not compile for.
            VocabularyError: the config cannot be used.
        """
        expectation = case.expectation
        if not isinstance(expectation, ExpectSql) or not any(map(uses_default, (expectation.text, *case.accept))):
            return case
        projection = self._projection(case)
        changed = {
            "expectation": expectation.model_copy(update={"text": with_projection(expectation.text, projection)}),
            "accept": tuple(with_projection(query, projection) for query in case.accept),
        }
        return case.model_copy(update=changed)

    def _projection(self, case: Case) -> str:
        if case.config is None:
            raise TargetError(f"case {case.id} expects <default>, which needs a vocabulary config: --config FILE")
        if case.backend not in ENGINE_BACKENDS:
            known = ", ".join(name for name in ENGINE_BACKENDS if name != "mongo")
            said = f"case {case.id} expects <default> in {case.backend}; QueryForge compiles SQL for {known}"
            raise TargetError(f"{said}; write the columns out")
        key = (case.config, case.backend)
        if key not in self._known:
            loaded = load_config(case.config)
            if isinstance(loaded, DdlConfig):
                raise TargetError(f"case {case.id} expects <default>, but {case.config} is a schema, no vocabulary")
            self._known[key] = default_projection(loaded, case.backend)
        return self._known[key]
