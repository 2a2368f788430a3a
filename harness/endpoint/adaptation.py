"""Fits requests to an endpoint that refuses a parameter: once, remembered for the run, and told to the user."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.endpoint.bodies import ErrorBody

Body = dict[str, Any]

_REFUSED = re.compile(
    "|".join(
        (
            r"unsupported|not support|n't support|unknown|unrecogni[sz]ed|not recogni[sz]ed|unexpected",
            r"not permitted|not allowed|not accept|not available|not implemented|no longer|removed|deprecated",
            r"only the default",
            r"extra_forbidden|extra inputs|extra fields|cannot find field|cannot be (?:set|used)",
            r"invalid (?:parameter|argument|field)",
        )
    )
)
_STREAM_WANTED = re.compile(
    "|".join(
        (
            r"only supports? (?:the )?stream",
            r"stream(?:ing)? (?:mode |output )?(?:is )?(?:required|only)",
            r"stream['\"`]?\s*(?:=|:|to|must be|should be|as)\s*(?:set )?(?:to )?['\"`]?true",
            r"(?:enable|use|set) (?:the )?['\"`]?stream",
            r"non-?stream(?:ing)? .{0,40}(?:not|un)",
        )
    )
)


def _rename(old: str, new: str) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        if old in body:
            body[new] = body.pop(old)

    return change


def _drop(name: str) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        body.pop(name, None)

    return change


def _stream(body: Body) -> None:
    body["stream"] = True


@dataclass(frozen=True)
class _Change:
    name: str
    notice: str
    apply: Callable[[Body], None]


_COMPLETION_TOKENS = _Change(
    "max_completion_tokens",
    "max_tokens is not accepted by the model: max_completion_tokens is sent in its place",
    _rename("max_tokens", "max_completion_tokens"),
)
_OLD_TOKENS = _Change(
    "max_tokens",
    "max_completion_tokens is not accepted by the endpoint: max_tokens is sent in its place",
    _rename("max_completion_tokens", "max_tokens"),
)
_RANDOM_SEED = _Change(
    "random_seed",
    "seed is not accepted by the endpoint: random_seed is sent in its place",
    _rename("seed", "random_seed"),
)
_STREAM = _Change("stream", "the model answers streams only: replies are read from a stream", _stream)


def _left_out(name: str) -> _Change:
    return _Change(f"no {name}", f"{name} is not accepted by the model: it is left out", _drop(name))


@dataclass
class Adaptations:
    """What was learnt of an endpoint in this run. Changes are only ever added, each at most once.

    Attributes:
        droppable: parameters that may be left out where they are refused.
    """

    droppable: tuple[str, ...] = (
        "temperature",
        "seed",
        "random_seed",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
    )
    _changes: list[_Change] = field(default_factory=list)

    @property
    def notices(self) -> tuple[str, ...]:
        """One line for each change."""
        return tuple(change.notice for change in self._changes)

    def known(self) -> int:
        """How many changes are known; a request built before a change came can tell by it."""
        return len(self._changes)

    def applied(self, body: Mapping[str, Any]) -> Body:
        """The body as the endpoint is known to take it."""
        fitted = dict(body)
        for change in self._changes:
            change.apply(fitted)
        return fitted

    def notices_for(self, body: Mapping[str, Any]) -> tuple[str, ...]:
        """The notices of those changes that change this body."""
        fitted = dict(body)
        notices = []
        for change in self._changes:
            before = dict(fitted)
            change.apply(fitted)
            if fitted != before:
                notices.append(change.notice)
        return tuple(notices)

    def assume_random_seed(self) -> None:
        """The endpoint is known to want `random_seed`."""
        self._learn(_RANDOM_SEED)

    def learn(self, sent: Mapping[str, Any], error: ErrorBody) -> str | None:
        """See whether an error refuses a parameter that was sent and that can be given up or spelled otherwise.

        Args:
            sent: the body that was refused.
            error: what the endpoint said.

        Returns:
            The notice of the change, `None` where there is nothing to change.
        """
        change = self._change(sent, error)
        return change.notice if change is not None and self._learn(change) else None

    def _learn(self, change: _Change) -> bool:
        if any(known.name == change.name for known in self._changes):
            return False
        self._changes.append(change)
        return True

    def _change(self, sent: Mapping[str, Any], error: ErrorBody) -> _Change | None:
        if not sent.get("stream") and _STREAM_WANTED.search(error.text):
            return _STREAM
        if "max_tokens" in sent and "max_completion_tokens" in error.text:
            return _COMPLETION_TOKENS
        if not _REFUSED.search(error.text):
            return None
        if _names("max_completion_tokens", error) and "max_completion_tokens" in sent:
            return _OLD_TOKENS
        if _names("max_tokens", error) and "max_tokens" in sent:
            return _COMPLETION_TOKENS
        if (
            "seed" in sent
            and _names("seed", error)
            and ("random_seed" in error.text or "extra_forbidden" in error.text)
        ):
            return _RANDOM_SEED
        return next((_left_out(name) for name in self.droppable if name in sent and _names(name, error)), None)


def _names(parameter: str, error: ErrorBody) -> bool:
    if error.param is not None and error.param.rpartition(".")[2] == parameter:
        return True
    return re.search(rf"(?<![a-z_]){parameter}(?![a-z_])", error.text) is not None
