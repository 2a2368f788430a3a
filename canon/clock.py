"""The pinned instant to which clock calls fold."""

from datetime import UTC, datetime


def utc(now: datetime) -> datetime:
    """Bring an aware instant to UTC.

    Raises:
        ValueError: the instant has no time zone, so that it names no instant.
    """
    if now.tzinfo is None:
        raise ValueError(f"{now.isoformat()} has no time zone; write it with one, such as {now.isoformat()}Z")
    return now.astimezone(UTC)
