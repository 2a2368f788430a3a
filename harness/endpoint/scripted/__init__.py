"""A real HTTP endpoint on loopback that answers from a script: replies for a corpus, or endpoints' habits by name."""

from harness.endpoint.scripted.habits import QUERY, SCENARIOS
from harness.endpoint.scripted.scenarios import CloseIdle, Events, Hang, Scenario, Step, Wire
from harness.endpoint.scripted.script import Match, Script, ScriptedResponse, ScriptLine
from harness.endpoint.scripted.server import Received, ScriptedServer

__all__ = [
    "QUERY",
    "SCENARIOS",
    "CloseIdle",
    "Events",
    "Hang",
    "Match",
    "Received",
    "Scenario",
    "Script",
    "ScriptLine",
    "ScriptedResponse",
    "ScriptedServer",
    "Step",
    "Wire",
]
