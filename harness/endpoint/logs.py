"""Structured lines on stderr: what happened, to which case and attempt. Never a prompt, never a secret."""

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from harness.endpoint.chat import Origin
from harness.endpoint.redaction import Redactor
from harness.errors import UsageError

LOGGER = logging.getLogger("rung")
# Without this, Python prints warnings bare on stderr until logging is configured.
LOGGER.addHandler(logging.NullHandler())
LEVELS = ("debug", "info", "warning", "error")


def log_event(level: str, event: str, origin: Origin | None = None, **fields: object) -> None:
    """Log one event.

    Args:
        level: `debug`, `info`, `warning` or `error`. Prompts and replies may only be given at `debug`.
        event: what happened, in a few words.
        origin: the attempt that it happened to.
        fields: further facts; `None` is left out.
    """
    number = logging.getLevelNamesMapping()[level.upper()]
    if LOGGER.isEnabledFor(number):
        place = {"case": origin.case_id, "repeat": origin.repeat, "call": origin.call} if origin is not None else {}
        LOGGER.log(number, "%s", event, extra={"fields": {**place, **fields}})


class LineFormatter(logging.Formatter):
    """`time=… level=… event="…" case=… repeat=… call=… …`, one line an event, secrets masked."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields: dict[str, object] = {"time": at, "level": record.levelname.lower(), "event": record.getMessage()}
        fields.update(getattr(record, "fields", {}))
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        line = " ".join(f"{name}={_quoted(str(value))}" for name, value in fields.items() if value is not None)
        return self._redactor.clean(line)


def configure_logging(level: str, redactor: Redactor, stream: TextIO | None = None) -> logging.Handler:
    """Send rung's log lines of this level and above to `stream` (stderr).

    Replaces the handler that an earlier call set.

    Raises:
        UsageError: there is no such level.
    """
    if level.lower() not in LEVELS:
        raise UsageError(f"--log-level {level!r}: choose one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(redactor))
    for old in [*LOGGER.handlers]:
        LOGGER.removeHandler(old)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False
    return handler


def _quoted(value: str) -> str:
    if value and not any(character in value for character in ' "=\n\r\t'):
        return value
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{escaped}"'
