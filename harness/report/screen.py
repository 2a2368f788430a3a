"""Text for a terminal: safe whatever a model wrote, marked where two queries differ, in bars and small tables."""

import io
import json
import unicodedata
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from canon.verdict import Cell, DocumentWitness, RowWitness, Table
from harness.report import words
from harness.report.marking import Segment, mark

WIDTH = 100
"""Columns that a report fills at most, and where nobody can tell how many there are."""
LONGEST_QUERY = 2_000
"""Characters of a query that a terminal shows."""
_ROWS = 8
"""Rows of a witness's table that a terminal shows."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with every character that would steer a terminal or hide in it written out; line feeds stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in _HIDDEN else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    if char == "\t":
        return " "
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def safe(text: str, style: str = "") -> Text:
    """Text of unknown origin: no markup, no control codes."""
    return Text(visible(text), style=style)


def bar(share: float, width: int, console: Console, style: str) -> Text:
    """A bar; any share above nothing shows, and only a whole one is full."""
    full, empty = ("█", "░") if console.encoding.lower().startswith("utf") else ("#", ".")
    filled = round(share * width)
    if share > 0:
        filled = max(1, filled)
    if share < 1:
        filled = min(width - 1, filled)
    return Text(full * filled, style=style) + Text(empty * (width - filled), style="dim")


def side_by_side(expected: str, actual: str) -> tuple[Text, Text]:
    """Both queries, what the other lacks standing out."""
    left, right = mark(words.clip(expected, LONGEST_QUERY), words.clip(actual, LONGEST_QUERY))
    return _marked(left, "green"), _marked(right, "red")


def _marked(segments: Iterable[Segment], colour: str) -> Text:
    text = Text()
    for segment in segments:
        text.append(visible(segment.text), style=f"bold {colour}" if segment.differs else "")
    return text


def witness_lines(
    witness: RowWitness | DocumentWitness, titles: tuple[str, str] = ("the golden returns", "the answer returns")
) -> Iterable[Text | Grid]:
    """A witness: what it shows in words, the data, and both results under their titles."""
    if witness.reading:
        yield safe(witness.reading, "italic")
    match witness:
        case RowWitness(tables=tables, expected=expected, actual=actual):
            for table in tables:
                yield from grid(table, table.name)
            yield from grid(expected, titles[0])
            yield from grid(actual, titles[1])
        case DocumentWitness(collections=collections, expected=expected, actual=actual):
            for name, documents in collections.items():
                yield from _documents(name or "documents", documents)
            yield from _documents(titles[0], expected)
            yield from _documents(titles[1], actual)
    engines = [engine for engine in witness.confirmed_on if engine != "regions"]
    yield safe(f"both were run on {', '.join(engines)}" if engines else "found by evaluating both conditions", "dim")


def witness_text(witness: RowWitness | DocumentWitness) -> str:
    """A witness as plain text."""
    stream = io.StringIO()
    console = Console(file=stream, width=WIDTH, highlight=False, emoji=False, markup=False, color_system=None)
    for part in witness_lines(witness):
        console.print(part)
    return stream.getvalue()


def grid(table: Table, title: str) -> Iterable[Text | Grid]:
    """A small table under its title; one without rows is said in words."""
    if not table.rows:
        yield safe(f"{title}: no rows ({', '.join(table.columns)})")
        return
    yield safe(title, "dim italic")
    drawn = Grid(header_style="bold", box=box.SIMPLE_HEAD, show_edge=False)
    for column in table.columns:
        drawn.add_column(safe(column), overflow="fold")
    for row in table.rows[:_ROWS]:
        drawn.add_row(*(cell(value) for value in row))
    yield drawn
    if len(table.rows) > _ROWS:
        yield safe(f"and {len(table.rows) - _ROWS:,} more rows", "dim")


def cell(value: Cell) -> Text:
    """A value in a table: NULL and text are told apart by style."""
    match value:
        case None:
            return Text("NULL", style="dim")
        case str():
            return safe(words.clip(value, 80))
        case {"type": _, "value": inner, **rest} if not rest:
            return cell(inner)
        case _:
            return safe(json.dumps(value, ensure_ascii=False))


def _documents(title: str, documents: Sequence[object]) -> Iterable[Text]:
    if not documents:
        yield safe(f"{title}: no documents")
        return
    yield safe(title, "dim")
    for document in documents[:_ROWS]:
        yield safe("  " + words.clip(json.dumps(document, ensure_ascii=False), 400))
    if len(documents) > _ROWS:
        yield safe(f"  and {len(documents) - _ROWS:,} more", "dim")
