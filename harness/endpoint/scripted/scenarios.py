"""The habits of real endpoints, each a scenario by name that the scripted server plays."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from harness.endpoint.scripted.script import ScriptedResponse


@dataclass(frozen=True)
class Hang:
    """Nothing ever comes: before the headers, after the headers, or between chunks of the body."""

    after: Literal["request", "headers", "chunk"] = "request"


@dataclass(frozen=True)
class Wire:
    """Raw bytes on the connection, which is then closed (`fin`) or reset (`rst`)."""

    raw: bytes = b""
    then: Literal["fin", "rst"] = "fin"


@dataclass(frozen=True)
class CloseIdle:
    """Answers the request whole, then closes the connection without having announced it."""

    response: ScriptedResponse


@dataclass(frozen=True)
class Events:
    """A stream of server-sent events, as raw text."""

    text: str


Step = ScriptedResponse | Hang | Wire | CloseIdle | Events


@dataclass(frozen=True)
class Scenario:
    """What an endpoint does, HTTP call by HTTP call of an attempt; the last step repeats.

    Attributes:
        name: its place in the server's paths (`/scenario/NAME/v1`).
        says: one line for a person.
        steps: what answers each call.
        refuses: parameters that it refuses when they are sent, with the body it then gives (HTTP 400), before any step.
        refuse_status: the status of such a refusal.
        streams_only: a request without `stream` is refused.
    """

    name: str
    says: str
    steps: tuple[Step, ...]
    refuses: dict[str, JsonValue] = field(default_factory=dict)
    refuse_status: int = 400
    streams_only: bool = False
