"""How a call says which attempt it belongs to: a header that goes to servers on loopback only."""

import ipaddress
from typing import NamedTuple
from urllib.parse import quote, unquote

from harness.endpoint.chat import Origin

HEADER = "x-rung-origin"


class Attempt(NamedTuple):
    """The attempt that a request belongs to; `run` tells runs apart, so that each starts a script anew."""

    run: str
    case_id: str
    repeat: int


def format_origin(run: str, origin: Origin) -> str:
    """The header's value."""
    return f"{quote(run, safe='')};{quote(origin.case_id, safe='')};{origin.repeat}"


def parse_origin(value: str | None) -> Attempt | None:
    """Read the header's value; what is no such value is `None`."""
    parts = value.split(";") if value else []
    if len(parts) != 3 or not (parts[2].isascii() and parts[2].isdigit()) or len(parts[2]) > 9:
        return None
    return Attempt(run=unquote(parts[0]), case_id=unquote(parts[1]), repeat=int(parts[2]))


def is_loopback(host: str) -> bool:
    """Whether a host name can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
