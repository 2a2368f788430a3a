"""Records what a model said, and gives it back: a run that needs no endpoint, and costs nothing, the second time."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

from pydantic import JsonValue, ValidationError

from harness.endpoint.chat import Chat, Completed, Message, Origin, Unanswered
from harness.endpoint.completions import as_events, completion
from harness.endpoint.exchange import Exchange, Exchanger, OnPiece
from harness.endpoint.redaction import Redactor
from harness.endpoint.settings import EndpointSettings
from harness.errors import InputError, UsageError
from harness.types.frozen import Frozen
from harness.types.problems import FileProblem


class TapeEntry(Frozen):
    """One line of a tape. Neither headers nor failures are ever on it.

    Attributes:
        key: `tape_key` of the request.
        case_id: for people; the key holds it, too.
        repeat: for people.
        call: for people.
        chat: what the model said.
        payload: the endpoint's own object, for applications behind the gateway.
    """

    format: Literal["rung.tape/1"] = "rung.tape/1"
    key: str
    case_id: str
    repeat: int
    call: int
    chat: Completed
    payload: dict[str, JsonValue] | None = None


def tape_key(body: Mapping[str, Any], origin: Origin) -> str:
    """Digest of the model, everything sent, the case, the repeat and the call; not of how the reply is carried."""
    sent = {name: value for name, value in body.items() if name not in ("stream", "stream_options")}
    whole = {"sent": sent, "case": origin.case_id, "repeat": origin.repeat, "call": origin.call}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Tape:
    """A file of replies by key; of several with one key the last counts. Only offsets are held in memory.

    Args:
        path: the file.
        mode: `record` appends and makes the file; `replay` only reads.

    Raises:
        UsageError: the file cannot be opened.
        InputError: a line of it is no tape entry. A last line that a crash cut off is dropped.
    """

    def __init__(self, path: Path, mode: Literal["record", "replay"]) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("rb" if mode == "replay" else "a+b")
        except OSError as error:
            raise UsageError(f"--{mode} {path}: {error.strerror or error}") from error
        try:
            self._places = self._index()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, key: str) -> TapeEntry | None:
        """The entry of a key."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place)
        return TapeEntry.model_validate_json(self._file.readline())

    def add(self, entry: TapeEntry, redactor: Redactor) -> None:
        """Append an entry, without the key values in use."""
        line = redactor.known_only(entry.model_dump_json()).encode() + b"\n"
        place = self._file.seek(0, 2)
        self._file.write(line)
        self._file.flush()
        self._places[entry.key] = place

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def _index(self) -> dict[str, int]:
        places: dict[str, int] = {}
        problems: list[FileProblem] = []
        place = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                if self._file.writable():
                    self._file.truncate(place)
                break
            if line.strip():
                try:
                    places[TapeEntry.model_validate_json(line).key] = place
                except ValidationError as error:
                    message = f"no entry of a tape: {error.errors(include_url=False)[0]['msg']}"
                    problems.append(FileProblem(path=self.path, line=number, column=None, message=message))
            place += len(line)
        if problems:
            raise InputError(tuple(problems))
        return places


class RecordingClient:
    """A client whose good replies go onto a tape; a failed, truncated or filtered one never does."""

    def __init__(self, inner: Exchanger, tape: Tape, redactor: Redactor) -> None:
        self._inner = inner
        self._tape = tape
        self._redactor = redactor

    @property
    def settings(self) -> EndpointSettings:
        """The endpoint that is recorded."""
        return self._inner.settings

    async def complete(self, messages: tuple[Message, ...], origin: Origin) -> Chat:
        """Complete once, and record it."""
        return (await self.exchange(self.settings.body(messages), origin)).chat

    async def exchange(self, body: Mapping[str, Any], origin: Origin, on_piece: OnPiece | None = None) -> Exchange:
        """Answer one request body, and record the answer."""
        exchange = await self._inner.exchange(body, origin, on_piece)
        if isinstance(exchange.chat, Completed):
            entry = TapeEntry(
                key=tape_key(body, origin),
                case_id=origin.case_id,
                repeat=origin.repeat,
                call=origin.call,
                chat=exchange.chat,
                payload=exchange.payload,
            )
            self._tape.add(entry, self._redactor)
        return exchange

    async def aclose(self) -> None:
        """Close the client and the tape."""
        await self._inner.aclose()
        self._tape.close()


class ReplayingClient:
    """Answers from a tape alone."""

    def __init__(self, settings: EndpointSettings, tape: Tape) -> None:
        self._settings = settings
        self._tape = tape

    @property
    def settings(self) -> EndpointSettings:
        """The endpoint that was recorded."""
        return self._settings

    async def complete(self, messages: tuple[Message, ...], origin: Origin) -> Chat:
        """Give back what was recorded for this request."""
        return (await self.exchange(self._settings.body(messages), origin)).chat

    async def exchange(self, body: Mapping[str, Any], origin: Origin, on_piece: OnPiece | None = None) -> Exchange:
        """Give back what was recorded for this request body; one that never was is `Unanswered`."""
        entry = self._tape.find(tape_key(body, origin))
        if entry is None:
            attempt = f"case {origin.case_id}, repeat {origin.repeat}, call {origin.call}"
            message = (
                f"the tape {self._tape.path} has no reply for {attempt}: the prompt, the model or a parameter"
                " is not what was recorded; record again with --record"
            )
            return Exchange(Unanswered(reason="transport", message=message, tries=0))
        payload = entry.payload or payload_of(entry.chat)
        if body.get("stream") and on_piece is not None:
            await on_piece(as_events(payload))
            return Exchange(entry.chat, payload, streamed=True)
        return Exchange(entry.chat, payload)

    async def aclose(self) -> None:
        """Close the tape."""
        self._tape.close()


def payload_of(chat: Completed) -> dict[str, Any]:
    """A `chat.completion` object that says what was said."""
    counts = {
        "prompt_tokens": chat.usage.prompt,
        "completion_tokens": chat.usage.completion,
        "total_tokens": chat.usage.total,
    }
    usage = {name: count for name, count in counts.items() if count is not None}
    return completion(
        chat.model or "unknown",
        chat.content,
        finish=chat.finish or "stop",
        refusal=chat.refusal,
        reasoning=chat.reasoning,
        tool_arguments=chat.tool_arguments,
        usage=usage or None,
    )
