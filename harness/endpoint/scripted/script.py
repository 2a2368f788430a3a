r"""The file of scripted replies (`replies.jsonl`): which sentence is answered how, call by call.

One JSON object a line, one line for each sentence (blank lines are skipped):

```json
{"id": "S01", "match": {"sentence": "cancelled orders"}, "responses": [{"content": "{\"filters\": …}"}]}
{"id": "S02", "match": {"sentence": "orders over 500"}, "responses": [
    {"status": 429, "headers": {"Retry-After": "1"}, "body": {"error": {"message": "slow down", "code": "rate_limit"}}},
    {"content": "SELECT * FROM orders WHERE amount > 500", "usage": {"prompt_tokens": 812, "completion_tokens": 19}}]}
```

**Which line answers a call.** A call that rung's own client makes names its case; where a line has that `id`, it
answers. Any other call is answered by the line whose sentence is found in the last user message that holds one of the
sentences (so that a repair, whose last message is only a complaint, still finds its sentence); of several, the
longest sentence, then the first in the file.

**Which response.** The HTTP calls of one attempt (case, repeat) take one response each, in order: a retry or a repair
gets the next one, and after the last one the last is given again. Each repeat, and each new run, starts over at the
first. Calls of other programs, which name no attempt, go through the responses of the line in turn and start over
after the last.

**What a response is.** Either a completion in short (`content`, and if need be `refusal`, `reasoning`,
`tool_arguments`, `finish_reason`, `usage`, `model`), or `body`: a full JSON body (an object or array as JSON, a
string as it is) with `status` and `headers`. `delay_ms` delays its first byte. A request that asks for a stream gets
a completion as server-sent events.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError, model_validator

from harness.errors import InputError
from harness.types.frozen import Frozen
from harness.types.problems import FileProblem


class ScriptedResponse(Frozen):
    """One HTTP response: a completion in short, or a whole body.

    Attributes:
        content: the assistant's text: a string, `null`, or a list of content parts.
        refusal: the message's `refusal` field.
        reasoning: the message's `reasoning_content` field.
        tool_arguments: the arguments of one tool call, as text.
        finish_reason: `stop` unless given.
        usage: the `usage` object; left out of the body where not given.
        model: the model that is said to have answered; the request's where not given.
        status: HTTP status.
        headers: HTTP headers beside those of the body.
        body: the whole body in place of a completion.
        delay_ms: waits before the first byte, in milliseconds.
    """

    content: JsonValue = None
    refusal: str | None = None
    reasoning: str | None = None
    tool_arguments: str | None = None
    finish_reason: str | None = "stop"
    usage: dict[str, JsonValue] | None = None
    model: str | None = None
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[str, str] = {}
    body: JsonValue = None
    delay_ms: float = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _says_something(self) -> "ScriptedResponse":
        given = self.model_fields_set
        short = {"content", "refusal", "reasoning", "tool_arguments"} & given
        if "body" in given and short:
            raise ValueError(f"a response has either `body` or {', '.join(sorted(short))}, not both")
        if "body" not in given and not short:
            raise ValueError("a response needs `content` (or `refusal`, `tool_arguments`) or `body`")
        return self

    @property
    def is_completion(self) -> bool:
        """Whether it is a completion in short."""
        return "body" not in self.model_fields_set


class Match(Frozen):
    """What makes a line answer: the sentence as it stands in a user message."""

    sentence: str = Field(min_length=1)


class ScriptLine(Frozen):
    """One sentence and its responses, in the order of the calls."""

    id: str = Field(min_length=1)
    match: Match
    responses: tuple[ScriptedResponse, ...] = Field(min_length=1)


class Script:
    """The lines of a file of scripted replies, found by case or by sentence."""

    def __init__(self, lines: Iterable[ScriptLine]) -> None:
        self._lines = {line.id: line for line in lines}
        # Longest sentence first; sorting is stable, so that equals keep the file's order.
        self._by_length = sorted(self._lines.values(), key=lambda line: -len(line.match.sentence))

    @classmethod
    def read(cls, path: Path) -> "Script":
        """Read a file of scripted replies.

        Raises:
            InputError: with every line that cannot be used.
        """
        lines: dict[str, ScriptLine] = {}
        problems: list[FileProblem] = []
        try:
            texts = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                (FileProblem(path=path, line=None, column=None, message=f"cannot be read: {error}"),)
            ) from error
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                continue
            try:
                line = ScriptLine.model_validate_json(text)
            except ValidationError as error:
                problems += [_problem(path, number, detail) for detail in error.errors(include_url=False)]
                continue
            if line.id in lines:
                problems.append(
                    FileProblem(path=path, line=number, column="id", message=f"{line.id!r} stands there twice")
                )
            lines[line.id] = line
        if problems:
            raise InputError(tuple(problems))
        return cls(lines.values())

    @property
    def lines(self) -> tuple[ScriptLine, ...]:
        """All lines, in the file's order."""
        return tuple(self._lines.values())

    def find(self, request: Mapping[str, Any], case_id: str | None) -> ScriptLine | None:
        """The line that answers a chat-completions request, `None` where none does."""
        if case_id is not None and case_id in self._lines:
            return self._lines[case_id]
        for message in reversed(request.get("messages") or []):
            if not isinstance(message, dict) or message.get("role") != "user":
                continue
            text = _text_of(message.get("content"))
            for line in self._by_length:
                if line.match.sentence in text:
                    return line
        return None


def _problem(path: Path, number: int, detail: Any) -> FileProblem:
    place = ".".join(str(part) for part in detail["loc"]) or None
    return FileProblem(path=path, line=number, column=place, message=str(detail["msg"]))


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""
