"""What the user should know of a run beside its grades, gathered case by case."""

from typing import Literal, NamedTuple

from harness.types.run import Warned

Kind = Literal["flaky", "steady", "unpinned", "today_line_absent", "adapted_parameter", "contradiction", "other"]

_SHOWN = 50
"""Ids that a warning keeps; the count is exact."""
_NOTICES_KEPT = 100
"""Different notices of targets and endpoints that are kept apart; a notice that names its case would be endless."""
_ADAPTED = ("not accepted", "answers streams only")
_ORDER: tuple[Kind, ...] = (
    "contradiction",
    "today_line_absent",
    "unpinned",
    "flaky",
    "steady",
    "adapted_parameter",
    "other",
)


class _Key(NamedTuple):
    kind: Kind
    message: str


class Warnings:
    """Gathers warnings; each is said once, with the cases it concerns."""

    def __init__(self) -> None:
        self._cases: dict[_Key, list[str]] = {}
        self._counts: dict[_Key, int] = {}
        self._last: dict[_Key, str] = {}

    def unpinned(self, case_id: str) -> None:
        """The sentence speaks of a date relative to today, and the case pins no clock."""
        message = "with relative date words and no pinned `now`: the expectation rots as the days pass"
        self._add(_Key("unpinned", message), case_id)

    def flaky(self, case_id: str) -> None:
        """Some repeats passed, others failed."""
        self._add(_Key("flaky", "passed some repeats and failed others"), case_id)

    def steady(self, case_id: str, repeats: int) -> None:
        """Every repeat gave the same wrong query."""
        message = f"wrong the same way in all {repeats} repeats: a misreading, not noise"
        self._add(_Key("steady", message), case_id)

    def contradiction(self, case_id: str) -> None:
        """Text and execution contradict each other."""
        message = (
            "where the texts mean the same and yet the results differ: a bug in rung, or a query whose result its "
            "data does not determine"
        )
        self._add(_Key("contradiction", message), case_id)

    def worded(self, case_id: str) -> None:
        """The refusal was read from words, not from a structure."""
        message = (
            "refusal by words: a reply of words without any query is read as declining (--no-words-refuse: as none)"
        )
        self._add(_Key("other", message), case_id)

    def notices(self, case_id: str, notices: tuple[str, ...]) -> None:
        """What a target or an endpoint wanted the user to know."""
        for notice in notices:
            key = _Key(kind_of(notice), notice)
            if key in self._counts or len(self._counts) < _NOTICES_KEPT:
                self._add(key, case_id)
            else:
                self._add(_Key("other", "further notices, not shown apart"), case_id)

    def _add(self, key: _Key, case_id: str) -> None:
        if self._last.get(key) == case_id:
            return
        self._last[key] = case_id
        self._counts[key] = self._counts.get(key, 0) + 1
        cases = self._cases.setdefault(key, [])
        if len(cases) < _SHOWN:
            cases.append(case_id)

    def all(self) -> tuple[Warned, ...]:
        """The warnings, the gravest kinds first."""
        keys = sorted(self._cases, key=lambda key: _ORDER.index(key.kind))
        return tuple(
            Warned(
                kind=key.kind,
                message=_said(key, self._counts[key]),
                cases=tuple(self._cases[key]),
                count=self._counts[key],
            )
            for key in keys
        )


def _said(key: _Key, count: int) -> str:
    """Our own warnings begin with their cases; a notice stands as it came."""
    if key.kind in ("adapted_parameter", "today_line_absent", "other"):
        return key.message
    return f"{count:,} {'case' if count == 1 else 'cases'} {key.message}"


def kind_of(notice: str) -> Kind:
    """Sort a notice by what it speaks of."""
    text = notice.lower()
    if "today" in text and ("absent" in text or "line" in text):
        return "today_line_absent"
    if any(word in text for word in _ADAPTED):
        return "adapted_parameter"
    return "other"
