"""Reads mongosh, Node and PyMongo text as literals and method chains, by recursive descent. Nothing is executed.

The language is the part of JavaScript (and of Python) that queries are written in: object and array literals,
strings, numbers, regular expressions, the constructors of the BSON types, arithmetic on numbers and dates,
`const`/`let`/`var` bindings of such values, and one chain of method calls on a collection. Whatever else occurs is an
error that says where.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from canon.errors import ReadError
from canon.mongo.constructors import (
    CONSTRUCTORS,
    DATE_METHODS,
    Instant,
    arithmetic,
    finished,
)
from canon.mongo.extended import from_pairs

MAX_DEPTH = 100
"""Levels of nesting: what MongoDB itself takes in a document."""

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      |(?P<number>0[xX][0-9a-fA-F]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?n?)
      |(?P<python>[rb]?(?P<quote>["'])(?:[^"'\\\n]|\\.|(?!(?P=quote))["'])*(?P=quote))
      |(?P<template>`(?:[^`\\]|\\.)*`)
      |(?P<name>[A-Za-z_$\u0080-\ud7ff\ue000-\U0010ffff][\w$]*)
      |(?P<mark>=>|\*\*|[{}\[\]():,.;+\-*/%=!<>?&|@])""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


class Token(NamedTuple):
    """A token: what it is, its text, where it starts, and the value of a string or a regular expression."""

    kind: str
    text: str
    at: int
    value: object = None


class Call(NamedTuple):
    """One method call of a chain."""

    method: str
    args: tuple[object, ...]
    named: dict[str, object]


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of method calls on a collection, `None` where the calls are on the database itself."""

    collection: str | None
    calls: tuple[Call, ...]


@dataclass(slots=True)
class Reading:
    """What a text says: literals and chains in order, and whether it asked for the time."""

    results: list[object] = field(default_factory=list)
    clock_used: bool = False


def _unescape(found: "re.Match[str]") -> str:
    body = found.group(1)
    if body[0] == "u" and len(body) > 1:
        point = int(body.strip("u{}"), 16)
        return chr(point) if point <= 0x10FFFF else "\ufffd"
    if body[0] == "x" and len(body) > 1:
        return chr(int(body[1:], 16))
    return _SIMPLE_ESCAPES.get(body, body)


def where(text: str, at: int) -> str:
    """Say a position as a person counts: line and column, with what stands there."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    seen = text[at : at + 20].split("\n", maxsplit=1)[0]
    return f"line {line}, column {column}" + (f", at {seen!r}" if seen else ", at the end of the text")


def tokens(text: str) -> list[Token]:
    """Cut a text into tokens, comments and blanks dropped.

    Raises:
        ReadError: something is no token of the language.
    """
    found: list[Token] = []
    at, size = 0, len(text)
    while at < size:
        if text[at] == "/" and text[at : at + 2] not in ("//", "/*") and not _ends_operand(found):
            regex = _REGEX.match(text, at)
            if regex is None:
                raise ReadError("unparseable", f"unfinished regular expression: {where(text, at)}")
            found.append(Token("regex", regex.group(), at, (regex.group(1), regex.group(2))))
            at = regex.end()
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise ReadError("unparseable", f"cannot read {where(text, at)}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_token(kind, match, text))
        at = match.end()
    found.append(Token("end", "", size))
    return found


def _token(kind: str, match: "re.Match[str]", text: str) -> Token:
    shown, at = match.group(), match.start()
    if kind in ("python", "quote"):
        raw = shown[0] == "r"
        body = shown[2:-1] if shown[0] in "rb" else shown[1:-1]
        return Token("string", shown, at, body if raw else _ESCAPE.sub(_unescape, body))
    if kind == "template":
        if "${" in shown:
            raise ReadError("unparseable", f"a template with ${{…}} is no literal: {where(text, at)}")
        return Token("string", shown, at, _ESCAPE.sub(_unescape, shown[1:-1]))
    return Token(kind, shown, at)


def _ends_operand(found: list[Token]) -> bool:
    """Whether a slash after these tokens divides, and does not open a regular expression."""
    return bool(found) and (found[-1].kind in ("number", "string", "name", "regex") or found[-1].text in (")", "]"))


LITERALS: dict[str, object] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "True": True,
    "False": False,
    "None": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "ASCENDING": 1,
    "DESCENDING": -1,
}

SHELL_MODULES = frozenset({"pymongo", "datetime", "bson", "re", "timezone", "pytz", "math", "Math"})
"""Names that only qualify what follows them."""

DATABASE_METHODS = frozenset({"getCollection", "collection", "get_collection"})
CLOCK_NAMES = frozenset({"now", "utcnow", "today"})


class Parser:
    """One text under reading."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text = text
        self.now = now
        self.tokens = tokens(text)
        self.at = 0
        self.depth = 0
        self.bound: dict[str, object] = {}
        self.reading = Reading()

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """The token under the cursor."""
        return self.tokens[self.at]

    def sees(self, text: str, ahead: int = 0) -> bool:
        """Whether a punctuation mark or a name stands next."""
        place = min(self.at + ahead, len(self.tokens) - 1)
        token = self.tokens[place]
        return token.text == text and token.kind in ("mark", "name")

    def take(self, text: str) -> bool:
        """Step over a mark if it stands next."""
        if self.sees(text):
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        """Step over a mark that must stand next."""
        if not self.take(text):
            raise self.error(f"expected {text!r}")

    def error(self, message: str, token: Token | None = None) -> ReadError:
        """An error at a token."""
        return ReadError("unparseable", f"{message}: {where(self.text, (token or self.token).at)}")

    def name(self) -> str:
        """Step over a name."""
        token = self.token
        if token.kind != "name":
            raise self.error("expected a name")
        self.at += 1
        return token.text

    # -- statements -----------------------------------------------------------------------------------------------

    def read(self) -> Reading:
        """Read the whole text."""
        while True:
            while self.take(";"):
                pass
            if self.token.kind == "end":
                return self.reading
            self.statement()

    def statement(self) -> None:
        """Read one statement; a binding gives no result."""
        if self.token.kind == "name" and self.token.text in ("use", "show") and self.tokens[self.at + 1].kind == "name":
            self.command()
            return
        if self.token.text in ("const", "let", "var") and self.tokens[self.at + 1].kind == "name":
            self.at += 1
        if self.token.kind == "name" and self.sees("=", 1) and not self.sees("=", 2):
            name = self.name()
            self.need("=")
            value = self.expression()
            if isinstance(value, Chain):
                self.reading.results.append(value)
            else:
                self.bound[name] = value
            return
        if self.token.text in ("return", "await"):
            self.at += 1
        mutates = self.token.kind == "name" and self.token.text in self.bound and self.sees(".", 1)
        value = self.expression()
        if not mutates:
            self.reading.results.append(finished(value))

    def command(self) -> None:
        """Step over `use shop`; refuse `show …`."""
        if self.token.text == "show":
            raise ReadError("not_a_read", "`show` asks for names, it reads no documents")
        self.at += 2

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self) -> object:
        """Read a sum of products."""
        self.depth += 1
        if self.depth > MAX_DEPTH * 2:
            raise ReadError("too_large", f"nested deeper than {MAX_DEPTH} levels")
        value = self.product()
        while self.token.kind == "mark" and self.token.text in ("+", "-"):
            mark = self.token
            self.at += 1
            value = self.compute(mark, value, self.product())
        self.depth -= 1
        return value

    def product(self) -> object:
        """Read a product of factors."""
        value = self.factor()
        while self.token.kind == "mark" and self.token.text in ("*", "/", "%", "**"):
            mark = self.token
            self.at += 1
            value = self.compute(mark, value, self.factor())
        return value

    def compute(self, mark: Token, left: object, right: object) -> object:
        """Do one operation."""
        try:
            return arithmetic(mark.text, left, right)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self.error(f"cannot compute: {error}", mark) from None

    def factor(self) -> object:
        """Read an operand with its sign and what hangs on it (`.getTime()`)."""
        token = self.token
        if token.kind == "mark" and token.text in ("-", "+"):
            self.at += 1
            value = self.factor()
            return self.compute(token, 0, value) if token.text == "-" else value
        return self.suffixes(self.operand())

    def operand(self) -> object:
        """Read a literal, a constructor, a bound name or a chain."""
        token = self.token
        if token.kind == "string":
            self.at += 1
            value = str(token.value)
            while self.token.kind == "string":
                value += str(self.token.value)
                self.at += 1
            return value
        if token.kind == "number":
            self.at += 1
            return self.number(token)
        if token.kind == "regex":
            self.at += 1
            return self.construct("RegExp", token, tuple(token.value) if isinstance(token.value, tuple) else ())
        if token.kind == "mark":
            if token.text == "{":
                return self.document()
            if token.text == "[":
                return self.array("]")
            if token.text == "(":
                return self.group()
        if token.kind == "name":
            return self.named()
        raise self.error("expected a value")

    def number(self, token: Token) -> int | float:
        """Read a number's text."""
        shown = token.text.replace("_", "").rstrip("n")
        try:
            if shown[:2] in ("0x", "0X"):
                return int(shown, 16)
            return int(shown) if shown.isdigit() else float(shown)
        except ValueError:
            raise self.error("no such number", token) from None

    def document(self) -> object:
        """Read an object literal."""
        opened = self.token
        self.at += 1
        pairs: list[tuple[str, object]] = []
        while not self.take("}"):
            token = self.token
            if token.kind not in ("string", "name", "number"):
                raise self.error("expected a key or '}'")
            self.at += 1
            key = str(token.value) if token.kind == "string" else token.text
            if token.kind == "name" and (self.sees(",") or self.sees("}")):
                if key not in self.bound:
                    raise self.error(f"{key} is not bound", token)
                pairs.append((key, finished(self.bound[key])))
            else:
                self.need(":")
                pairs.append((key, finished(self.expression())))
            if not self.take(",") and not self.sees("}"):
                raise self.error(f"expected ',' or '}}' of the object opened at {where(self.text, opened.at)}")
        return from_pairs(pairs)

    def array(self, closing: str) -> list[object]:
        """Read an array literal or the members of a tuple."""
        self.at += 1
        members: list[object] = []
        while not self.take(closing):
            members.append(finished(self.expression()))
            if not self.take(",") and not self.sees(closing):
                raise self.error(f"expected ',' or {closing!r}")
        return members

    def group(self) -> object:
        """Read a parenthesis: a grouped expression, or a Python tuple as an array."""
        self.at += 1
        if self.take(")"):
            return []
        value = self.expression()
        if self.take(")"):
            return value
        members = [finished(value)]
        while self.take(","):
            if self.sees(")"):
                break
            members.append(finished(self.expression()))
        self.need(")")
        return members

    def named(self) -> object:
        """Read what starts with a name."""
        token = self.token
        name = self.name()
        if name in ("new", "await"):
            return self.operand()
        if name == "db":
            return self.chain()
        if name in self.bound:
            return self.bound[name]
        if name in SHELL_MODULES:
            while self.take("."):
                name = self.name()
        elif name == "list" and self.sees("("):
            return self.group()
        elif self.sees(".") and name in ("Date", "ISODate", "ObjectId", "Decimal128", "UUID"):
            self.at += 1
            name = f"{name}.{self.name()}" if name == "Date" else (self.name() and name)
        if name in LITERALS and not self.sees("("):
            return LITERALS[name]
        if self.sees("("):
            args, named = self.arguments()
            return self.construct(name, token, args, named)
        if name in ("I", "IGNORECASE", "M", "S", "X"):
            return name[0].lower()
        if name == "utc":
            return None
        if name == "Date":
            return self.construct(name, token, ())
        raise self.error(f"{name} is no value that a query can hold", token)

    def construct(
        self, name: str, token: Token, args: tuple[object, ...], named: dict[str, object] | None = None
    ) -> object:
        """Call a constructor of a BSON type."""
        build = CONSTRUCTORS.get(name)
        if build is None:
            raise self.error(f"{name}(…) is not known here", token)
        if name.rsplit(".", maxsplit=1)[-1] in CLOCK_NAMES or (name in ("Date", "ISODate") and not args):
            self.reading.clock_used = True
        try:
            return build(self.now, args, named or {})
        except (TypeError, ValueError, ArithmeticError, IndexError) as error:
            raise self.error(f"{name}(…): {error}", token) from None

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """Read the arguments of a call, Python's named ones apart."""
        self.need("(")
        args: list[object] = []
        named: dict[str, object] = {}
        while not self.take(")"):
            self.refuse_function()
            if self.token.kind == "name" and self.sees("=", 1):
                key = self.name()
                self.need("=")
                named[key] = finished(self.expression())
            else:
                args.append(finished(self.expression()))
            if not self.take(",") and not self.sees(")"):
                raise self.error("expected ',' or ')'")
        return tuple(args), named

    def refuse_function(self) -> None:
        """A function literal is server-side or client-side code, which is never run."""
        arrow = self.token.kind == "name" and self.sees("=>", 1)
        if arrow or self.token.text in ("function", "lambda") or (self.sees("(") and self._arrow_follows()):
            raise self.error("a function is code, and code is not run")

    def _arrow_follows(self) -> bool:
        depth, place = 0, self.at
        while place < len(self.tokens) - 1:
            shown = self.tokens[place].text if self.tokens[place].kind == "mark" else ""
            depth += (shown == "(") - (shown == ")")
            place += 1
            if depth == 0:
                return self.tokens[place].text == "=>" and self.tokens[place].kind == "mark"
        return False

    def suffixes(self, value: object) -> object:
        """Read method calls on a value: the getters and setters of dates."""
        while not isinstance(value, Chain) and self.sees("."):
            self.at += 1
            token = self.token
            name = self.name()
            method: Callable[[Instant, tuple[object, ...]], object] | None = DATE_METHODS.get(name)
            if not self.sees("("):
                raise self.error(f".{name} is not known here", token)
            args, _ = self.arguments()
            if name == "toString" and not isinstance(value, Instant):
                value = str(value)
                continue
            if method is None or not isinstance(value, Instant):
                raise self.error(f".{name}() is not known here", token)
            try:
                value = method(value, args)
            except (TypeError, ValueError, ArithmeticError, IndexError) as error:
                raise self.error(f".{name}(): {error}", token) from None
        return value

    # -- chains ---------------------------------------------------------------------------------------------------

    def chain(self) -> Chain:
        """Read the calls that follow `db`: `.orders.find(…).sort(…)`, `["orders"]`, `.getCollection("orders")`."""
        names: list[str] = []
        calls: list[Call] = []
        while True:
            if self.sees("[") and not calls:
                key = self.array("]")
                names.append(str(key[0]) if key else "")
                continue
            if not self.take("."):
                break
            token = self.token
            name = self.name()
            if not self.sees("("):
                if calls:
                    raise self.error(f".{name} is not called", token)
                names.append(name)
                continue
            args, named = self.arguments()
            if name in DATABASE_METHODS and not calls and args and isinstance(args[0], str):
                names.append(args[0])
            elif name not in ("getSiblingDB", "getMongo", "getDB"):
                calls.append(Call(name, args, named))
        return Chain(".".join(names) if names else None, tuple(calls))


def read_text(text: str, now: datetime) -> Reading:
    """Read a text in shell notation.

    Args:
        text: the text.
        now: the instant to which `new Date()` and its kin fold.

    Raises:
        ReadError: the text is not in the language (`unparseable`) or nested too deeply (`too_large`).
    """
    try:
        return Parser(text, now).read()
    except RecursionError:
        raise ReadError("too_large", f"nested deeper than {MAX_DEPTH} levels") from None
