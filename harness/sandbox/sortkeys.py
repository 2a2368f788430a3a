"""What a query sorts by, as positions in its rows, so that a comparison in order knows which rows are a tie.

A key that the query does not return is added to the end of its select list, by splicing into the text.
"""

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from harness.sandbox.validation import Read


@dataclass(frozen=True)
class SortedRead:
    """A read whose rows carry all that it sorts by.

    Attributes:
        text: the query to run.
        positions: of the sort keys in a row; negative ones count from the end. `None` = they cannot all be had, and
            the order is taken as total.
        hidden: how many columns were added.
    """

    text: str
    positions: tuple[int, ...] | None
    hidden: int = 0


def with_sort_keys(read: Read) -> SortedRead:
    """Find the sort keys of a read among its columns, and add those that are not there."""
    order = read.tree.args.get("order")
    if not isinstance(order, exp.Order):
        return SortedRead(read.text, None)
    keys = [key.this if isinstance(key, exp.Ordered) else key for key in order.expressions]
    outputs = list(read.tree.selects)
    starred = any(output.is_star for output in outputs)
    found = [_position(key, outputs, starred=starred) for key in keys]
    absent = [place for place, position in enumerate(found) if position is None]
    if not absent:
        return SortedRead(read.text, tuple(position for position in found if position is not None))
    addable = isinstance(read.tree, exp.Select) and not read.tree.args.get("distinct")
    aliases = {output.alias.lower() for output in outputs if isinstance(output, exp.Alias)}
    reuses = any(
        column.name.lower() in aliases and not column.table
        for place in absent
        for column in keys[place].find_all(exp.Column)
    )
    end = _end_of_select_list(read.tokens)
    texts = _key_texts(read.text, read.tokens)
    if not addable or reuses or end is None or len(texts) != len(keys):
        return SortedRead(read.text, None)
    added = "".join(f", {texts[place]}" for place in absent)
    for number, place in enumerate(absent):
        found[place] = number - len(absent)
    text = read.text[:end] + added + " " + read.text[end:]
    return SortedRead(text, tuple(position for position in found if position is not None), len(absent))


def _position(key: exp.Expr, outputs: list[exp.Expr], *, starred: bool) -> int | None:
    if starred:
        return None
    if isinstance(key, exp.Literal) and not key.is_string:
        place = int(key.this) - 1 if str(key.this).isdigit() else -1
        return place if 0 <= place < len(outputs) else None
    if isinstance(key, exp.Column) and not key.table:
        named = [place for place, output in enumerate(outputs) if output.alias_or_name.lower() == key.name.lower()]
        if named:
            return named[0]
    for place, output in enumerate(outputs):
        if output.unalias() == key:
            return place
    return None


def _end_of_select_list(tokens: tuple[Token, ...]) -> int | None:
    """Where the outermost select list ends: before its FROM."""
    depth = 0
    selecting = False
    last: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        if kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
        elif depth == 0 and kind == TokenType.SELECT:
            selecting = True
        elif depth == 0 and selecting and kind == TokenType.FROM and last != TokenType.DISTINCT:
            return int(token.start)
        last = kind
    return None


_AFTER_ORDER = {TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH}
_DIRECTIONS = {"asc", "desc", "nulls", "first", "last"}


def _key_texts(text: str, tokens: tuple[Token, ...]) -> list[str]:
    """The text of each key of the outermost ORDER BY, without its direction."""
    depth = 0
    start: int | None = None
    keys: list[list[Token]] = []
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
        if depth == 0 and _order_by(tokens, index):
            start, keys = index, [[]]
        elif start is not None and depth == 0 and kind in _AFTER_ORDER:
            break
        elif start is not None and depth == 0 and kind == TokenType.COMMA:
            keys.append([])
        elif keys and not (index == (start or 0) + 1 and token.text.lower() == "by"):
            keys[-1].append(token)
    texts = []
    for key in keys:
        while key and key[-1].text.lower() in _DIRECTIONS:
            key.pop()
        if key:
            texts.append(text[key[0].start : key[-1].end + 1])
    return texts


def _order_by(tokens: tuple[Token, ...], index: int) -> bool:
    token = tokens[index]
    if token.token_type == TokenType.ORDER_BY:
        return True
    following = tokens[index + 1].text.lower() if index + 1 < len(tokens) else ""
    return token.text.lower() == "order" and following == "by"
