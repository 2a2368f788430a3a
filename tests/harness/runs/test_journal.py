"""The journal: what a crash may do to it, and what it may not."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import JournalError
from harness.runs.journal import Entry, Journal, encode, entry_at, read_journal
from harness.types.answers import NoQuery, Reply, SqlAnswer
from harness.types.outcomes import Exact, NoAnswer, Outcome

NOW = datetime(2026, 8, 4, tzinfo=UTC)


def entry(case_id: str, repeat: int = 0, raw: str = "SELECT 1") -> Entry:
    outcome = Outcome(
        case_id=case_id,
        case_digest="d",
        repeat=repeat,
        key=f"{case_id}:{repeat}",
        now=NOW,
        reply=Reply(answer=SqlAnswer(text="SELECT 1"), raw=raw),
        judgement=Exact(),
        meaning="golden",
        finished_at=NOW,
    )
    return Entry(graded="g", outcome=outcome)


async def written(path: Path, *entries: Entry, durable: bool = True) -> list[int]:
    journal = Journal(path)
    try:
        return [await journal.append(each, durable=durable) for each in entries]
    finally:
        await journal.aclose()


def ids(path: Path) -> list[str]:
    return [kept.entry.outcome.case_id for kept in read_journal(path)]


def test_lines_come_back_in_order_and_by_offset(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    entries = [entry(f"c{number}", raw="ü" * number) for number in range(5)]
    offsets = asyncio.run(written(path, *entries))
    assert [kept.entry for kept in read_journal(path)] == entries
    with path.open("rb") as file:
        assert [entry_at(file, offset) for offset in reversed(offsets)] == entries[::-1]


def test_a_second_opening_appends(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    asyncio.run(written(path, entry("a")))
    offsets = asyncio.run(written(path, entry("b")))
    assert ids(path) == ["a", "b"]
    with path.open("rb") as file:
        assert entry_at(file, offsets[0]).outcome.case_id == "b"


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_torn_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "journal.jsonl"
    asyncio.run(written(path, entry("a"), entry("b")))
    whole = path.read_bytes()
    os.truncate(path, len(whole) - cut)
    assert ids(path) == ["a"]
    asyncio.run(written(path, entry("c")))
    assert ids(path) == ["a", "c"]


def test_every_length_of_a_cut_keeps_the_lines_before_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, second = encode(entry("a")), encode(entry("b"))
    for length in range(len(second)):
        path.write_bytes(first + second[:length])
        Journal(path)._file.close()
        assert path.read_bytes() == first


@pytest.mark.parametrize("tail", [b"\0" * 500, b"\0" * 500 + b"\n", b'{"graded": "g"}\n', b"\n"])
def test_a_tail_that_is_no_line_is_dropped(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(entry("a")) + tail)
    asyncio.run(written(path, entry("b")))
    assert ids(path) == ["a", "b"]


def test_damage_in_the_middle_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(encode(entry("a")) + b'{"half": \n' + encode(entry("b")))
    with pytest.raises(JournalError, match=r"journal\.jsonl:2: not a journal line"):
        list(read_journal(path))


def test_two_writers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = Journal(path)
    with pytest.raises(JournalError, match="another rung is writing this run"):
        Journal(path)
    asyncio.run(first.aclose())
    asyncio.run(Journal(path).aclose())


def test_lines_that_finish_together_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), real(handle))[1])

    async def together() -> None:
        journal = Journal(path)
        synced.clear()
        await asyncio.gather(*(journal.append(entry(f"c{number}")) for number in range(50)))
        await journal.aclose()

    asyncio.run(together())
    assert ids(path) == [f"c{number}" for number in range(50)]
    assert len(synced) <= 2


def test_a_durable_line_is_on_the_disk_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    async def one() -> list[str]:
        journal = Journal(path)
        await journal.append(entry("a"))
        seen = ids(path)
        await journal.aclose()
        return seen

    assert asyncio.run(one()) == ["a"]


def test_lines_nobody_waits_for_are_there_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    asyncio.run(written(path, *(entry(f"c{number}") for number in range(1000)), durable=False))
    assert ids(path) == [f"c{number}" for number in range(1000)]


def test_a_full_disk_is_said_to_everybody_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    async def failing() -> list[object]:
        journal = Journal(tmp_path / "journal.jsonl")
        monkeypatch.setattr(os, "fsync", full)
        results = await asyncio.gather(*(journal.append(entry(f"c{n}")) for n in range(3)), return_exceptions=True)
        await journal.aclose()
        return list(results)

    results = asyncio.run(failing())
    assert [type(result) for result in results] == [JournalError] * 3
    assert "No space left on device" in str(results[0])


def test_a_lone_surrogate_does_not_break_the_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    asyncio.run(written(path, entry("a", raw="half \ud83d a pair")))
    (kept,) = read_journal(path)
    assert kept.entry.outcome.reply.raw == "half \ufffd a pair"
    assert kept.entry.outcome.now == NOW


def test_an_outcome_of_every_kind_survives(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    failed = entry("a").model_copy(
        update={
            "outcome": entry("a").outcome.model_copy(
                update={
                    "judgement": NoAnswer(reason="transport", message="503"),
                    "reply": Reply(answer=NoQuery(reason="transport", message="503"), notices=("adapted",)),
                }
            )
        }
    )
    asyncio.run(written(path, failed))
    assert [kept.entry for kept in read_journal(path)] == [failed]
