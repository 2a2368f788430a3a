"""Server-sent events of a streamed completion, read and put together as if it had come in one piece."""

import json
from typing import Any

from harness.endpoint.bodies import read_error

Json = dict[str, Any]
_MOST_TOOL_CALLS = 64


class EventReader:
    """Splits a byte stream into the data of its events; bytes may be cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that this piece completes."""
        # A piece that ends in CR waits for the next byte, which may be the LF of the same line end.
        text = self._rest + piece
        held = text.endswith(b"\r")
        lines = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if held else b"")
        return [data for line in lines for data in self._line(line)]

    def close(self) -> list[str]:
        """What an end without a blank line leaves."""
        line, self._rest = self._rest, b""
        return self._line(line.rstrip(b"\r")) + self._line(b"")

    def _line(self, line: bytes) -> list[str]:
        if line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        if not line:
            data, self._data = self._data, []
            return ["\n".join(data)] if data else []
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
        return []


class Assembly:
    """Puts the chunks of a streamed completion together to a `chat.completion` object."""

    def __init__(self) -> None:
        self.done = False
        self.chunks = 0
        self._error: Json | None = None
        self._head: Json = {}
        self._usage: Any = None
        self._finish: Any = None
        self._texts: dict[str, list[str]] = {}
        self._parts: list[Any] = []
        self._calls: dict[int, Json] = {}

    def add(self, data: str) -> None:
        """Take the data of one event."""
        if data.strip() == "[DONE]":
            self.done = True
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(chunk, dict):
            return
        if chunk.get("error") or ("choices" not in chunk and read_error(chunk) is not None):
            self._error = chunk
            return
        self.chunks += 1
        for key in ("id", "model", "created", "system_fingerprint"):
            if chunk.get(key) is not None:
                self._head.setdefault(key, chunk[key])
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        for choice in chunk["choices"] if isinstance(chunk.get("choices"), list) else ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._choice(choice)

    @property
    def whole(self) -> bool:
        """Whether the stream came to its end: `[DONE]`, a finish reason, or an error."""
        return self.done or self._finish is not None or self._error is not None

    def payload(self) -> Json:
        """The completion, or the error that broke the stream off."""
        if self._error is not None:
            return self._error
        content: Any = "".join(self._texts.get("content", []))
        message: Json = {"role": "assistant", "content": [content, *self._parts] if self._parts else content}
        for key in ("refusal", "reasoning_content", "reasoning"):
            if self._texts.get(key):
                message[key] = "".join(self._texts[key])
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
            message["content"] = message["content"] or None
        choices = [{"index": 0, "message": message, "finish_reason": self._finish}] if self.chunks else []
        payload: Json = {"object": "chat.completion", **self._head, "choices": choices}
        if self._usage is not None:
            payload["usage"] = self._usage
        return payload

    def _choice(self, choice: Json) -> None:
        if choice.get("finish_reason") is not None:
            self._finish = choice["finish_reason"]
        if choice.get("error"):
            self._error = choice
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            delta = {"content": choice.get("text")}
        for key in ("content", "refusal", "reasoning_content", "reasoning"):
            value = delta.get(key)
            if isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, list) and key == "content":
                self._parts += value
        for call in delta["tool_calls"] if isinstance(delta.get("tool_calls"), list) else ():
            self._tool_call(call)

    def _tool_call(self, call: Any) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return
        index = call.get("index", 0)
        index = index if isinstance(index, int) and 0 <= index < _MOST_TOOL_CALLS else 0
        empty: Json = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        known = self._calls.setdefault(index, empty)
        if isinstance(call.get("id"), str) and call["id"]:
            known["id"] = call["id"]
        if isinstance(function.get("name"), str) and function["name"]:
            known["function"]["name"] = function["name"]
        if isinstance(function.get("arguments"), str):
            known["function"]["arguments"] += function["arguments"]


def assemble(raw: bytes) -> Assembly:
    """Put a whole stream together."""
    reader, assembly = EventReader(), Assembly()
    for data in [*reader.feed(raw), *reader.close()]:
        assembly.add(data)
    return assembly
