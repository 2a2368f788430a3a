"""The region decision for two queries that differ only in their conditions: a proof, or a row that tells them apart."""

from collections.abc import Callable, Hashable
from itertools import product
from typing import Any, NamedTuple

from canon.logic.regions import Agreement, Axis, Disagreement, TooLarge, decide
from canon.sql.algebra import COMPARISONS, FALSE, NULL, TRUE, Block, Expr, columns, rewrite_rel, sids
from canon.sql.context import ColumnFact, Context
from canon.sql.domains import instants, numbers, texts
from canon.sql.facts import column_fact, padded_sids, type_of
from canon.sql.literals import INSTANT_TYPES, NUMERIC_TYPES
from canon.sql.predicates import ORDERED_TEXT, Span, bound, fold_text
from canon.sql.rendering import Renderer
from canon.sql.wording import Wording

Row = dict[Expr, Any]
RANGES = frozenset({"<", "<=", ">", ">="})
MAX_MEMBERS = 6
MAX_FREE = 4096


class Decision(NamedTuple):
    """What the regions say.

    Attributes:
        kind: `proved`, `vacuous`, or `refuted` with a row; `open` where nothing was decided.
        row: values by column, for a refutation.
        kept: whether the expected and the actual query keep that row.
        assumptions: the declared domains that a proof rests on.
    """

    kind: str
    row: Row | None = None
    kept: tuple[bool, bool] = (False, False)
    assumptions: tuple[str, ...] = ()


OPEN = Decision("open")


def aligned(ours: Block, theirs: Block) -> Block | None:
    """The second block with the first's source numbers, if the two are one but for WHERE."""
    first, second = Renderer(depth=1), Renderer(depth=1)
    if first.block(ours._replace(where=())) != second.block(theirs._replace(where=())):
        return None
    by_label = {label: sid for sid, label in first.labels.items()}
    if len(by_label) != len(first.labels):
        return None
    mapping = {sid: by_label[label] for sid, label in second.labels.items() if label in by_label}

    def change(expr: Expr) -> Expr | None:
        if expr.op == "col" and expr.value[0] in mapping:
            return expr._replace(value=(mapping[expr.value[0]], expr.value[1]))
        return None

    renamed = rewrite_rel(Block(where=theirs.where), change)
    assert isinstance(renamed, Block)
    return renamed


class Regions:
    """The axes of two conditions over the columns of one FROM, and the evaluation of both on a row."""

    def __init__(self, ours: Block, theirs: Block, ctx: Context, checks: tuple[Expr, ...]) -> None:
        self.ctx = ctx
        self.block = ours
        self.ours = ours.where
        self.theirs = theirs.where
        self.checks = checks
        self.padded = padded_sids(ours)
        self.cuts: dict[Expr, dict[str, set[Any]]] = {}
        self.members: dict[Expr, set[Expr]] = {}
        self.nulls: set[Expr] = set()
        self.flags: set[Expr] = set()
        self.free: dict[str, Expr] = {}
        self.links: list[set[Expr]] = []
        self.ranked: set[Expr] = set()  # columns that are compared with others by rank
        self.spans: dict[str, Expr] = {}
        self.assumptions: list[str] = []
        self.honest = True  # whether each representative is a value that the column can hold as it is written
        for part in (*self.ours, *self.theirs, *checks):
            self._collect(part)

    # -- what is looked at --------------------------------------------------------------------------------------

    def _collect(self, expr: Expr) -> None:
        op, value, args = expr
        if op in {"and", "or", "not", "untrue", "istrue"}:
            for arg in args:
                self._collect(arg)
        elif op == "span" and args[0].op == "col":
            bounds = {end for part in value.parts for end in (part.low, part.high) if end is not None}
            self.cuts.setdefault(args[0], {}).setdefault(value.kind, set()).update(bounds)
        elif op in {"isnull", "notnull"} and args[0].op == "col":
            self.nulls.add(args[0])
        elif op == "=" and args[0].op == "col" and args[1] in (TRUE, FALSE):
            self.flags.add(args[0])
        elif op == "has" and args[0].op == "col":
            self.members.setdefault(args[0], set()).add(args[1])
        elif op == "eqclass" or ((op in COMPARISONS or op in {"same", "distinct"}) and self._comparable(op, args)):
            self._link(set(args))
            self.ranked |= set(args) if op in RANGES else set()
        elif expr not in (TRUE, FALSE, NULL):
            self.free.setdefault(self._text(expr), expr)

    def _text(self, expr: Expr) -> str:
        """The canonical text of an atom: one atom of the two queries is one free boolean.

        Whatever its inner aliases.
        """
        return Renderer({sid: f"s{sid}" for sid in sids(expr)}, 0).text(expr)

    def _comparable(self, op: str, args: tuple[Expr, ...]) -> bool:
        """Whether columns are of one kind whose order the representatives can show."""
        if any(arg.op != "col" for arg in args):
            return False
        kinds = {type_of(arg, self.ctx) for arg in args}
        return (
            kinds <= NUMERIC_TYPES
            or kinds <= INSTANT_TYPES
            or (kinds == {"text"} and self.ctx.dialect.collation == "binary" and op not in RANGES)
            or (kinds == {"text"} and self.ctx.dialect.name in ORDERED_TEXT)
        )

    def _link(self, linked: set[Expr]) -> None:
        touching = [found for found in self.links if found & linked]
        self.links = [found for found in self.links if not found & linked] + [linked.union(*touching)]

    # -- axes ---------------------------------------------------------------------------------------------------

    def axes(self) -> tuple[list[Expr], list[Axis]] | None:
        """The columns and free atoms with their representatives; `None` where the literals cannot be told apart."""
        if any(atom.op == "col" for atom in self.free.values()):
            return None  # a column read as a condition is no atom beside the ranges of the same column
        looked_at = dict.fromkeys(
            (*self.cuts, *self.nulls, *self.flags, *self.members, *(c for link in self.links for c in link))
        )
        for link in self.links:
            shared: dict[str, set[Any]] = {}
            for column in link:
                for kind, cuts in self.cuts.get(column, {}).items():
                    shared.setdefault(kind, set()).update(cuts)
            for column in link:
                if (declared := column_fact(column, self.ctx).values) is not None:
                    shared.setdefault("str" if "str" in shared else "text", set()).update(declared)
            for column in link:
                self.cuts[column] = shared
        keys: list[Expr] = []
        axes: list[Axis] = []
        for column in sorted(looked_at, key=lambda c: (c.value[0], str(c.value[1]))):
            values = self._values(column)
            if values is None:
                return None
            keys.append(column)
            axes.append(Axis(str(column.value[1]), values))
        for text, atom in sorted(self.free.items()):
            keys.append(atom)
            axes.append(Axis(text, (True, False, None)))
        return keys, axes

    def _values(self, column: Expr) -> list[Hashable] | None:
        fact = column_fact(column, self.ctx)
        copies = next((len(link) for link in self.links if column in link), 1)
        ranked = any(link & self.ranked for link in self.links if column in link)
        kinds = self.cuts.get(column, {})
        values: list[Hashable] | None
        if column in self.members:
            values = self._subsets(column)
        elif fact.values is not None:
            self.assumptions.append(f"{column.value[1]} holds only its declared values")
            values = list(fact.values)
        elif column in self.flags or fact.type == "boolean":
            if fact.type not in {"boolean", "any"} or kinds:
                return None
            values = [True, False]
        elif len(set(kinds) - {"none"}) > 1:
            return None
        else:
            values = self._cut(next(iter(set(kinds) - {"none"}), ""), kinds, fact, copies, ranked=ranked)
        if values is not None and (not fact.not_null or column.value[0] in self.padded):
            values = [*values, None]
        return values

    def _subsets(self, column: Expr) -> list[Hashable] | None:
        members = sorted(self.members[column], key=repr)
        if len(members) > MAX_MEMBERS or column in self.cuts:
            return None
        found: list[Hashable] = []
        for picked in product((False, True), repeat=len(members)):
            found.append(frozenset(member for member, taken in zip(members, picked, strict=True) if taken))
        return sorted(found, key=len)  # type: ignore[arg-type]

    def _cut(
        self, kind: str, kinds: dict[str, set[Any]], fact: ColumnFact, copies: int, *, ranked: bool
    ) -> list[Hashable] | None:
        dialect, cuts = self.ctx.dialect, kinds.get(kind, set())
        if kind == "num" or (not kind and fact.type in NUMERIC_TYPES):
            return list(numbers(cuts, fact.type, copies))
        if kind == "ts" or (not kind and fact.type in INSTANT_TYPES):
            if any(cut.endswith("24:00:00") for cut in cuts):
                return None
            if dialect.name == "sqlite" and any(not cut.endswith("00:00:00") for cut in cuts):
                self.honest = False
            return list(instants(cuts, fact.type, dialect, copies))
        if kind in {"str", "text"}:
            if dialect.collation != "binary" and len({fold_text(cut) for cut in cuts}) < len(cuts):
                return None
            found = texts(cuts, copies, ordered=kind == "str" or ranked)
            if any("\x00" in text or "\x01" in text for text in found):
                self.honest = False
            return list(found)
        return list(texts((), copies, ordered=False)) if fact.type in {"text", "any"} else [_plainest(fact)]

    # -- evaluation ---------------------------------------------------------------------------------------------

    def evaluator(self, parts: tuple[Expr, ...], keys: list[Expr]) -> Callable[[tuple[Hashable, ...]], bool | None]:
        """Whether all of the parts are true on a row; `None` for a row that a CHECK forbids."""
        places = {key: index for index, key in enumerate(keys)}
        tests = [self._compile(part, places) for part in parts]
        checks = [self._compile(part, places) for part in self.checks]

        def keeps(row: tuple[Hashable, ...]) -> bool | None:
            for check in checks:
                if check(row) is False:
                    return None
            return all(test(row) is True for test in tests)

        return keeps

    def _free_place(self, expr: Expr, places: dict[Expr, int]) -> int | None:
        if not self.free or expr.op in {"and", "or"} or (expr.op in {"isnull", "notnull"} and expr.args[0].op == "col"):
            return None
        found = self.free.get(self._text(expr))
        return None if found is None else places[found]

    def _compile(self, expr: Expr, places: dict[Expr, int]) -> Callable[[tuple[Any, ...]], bool | None]:
        op, value, args = expr
        free = self._free_place(expr, places)
        if free is not None:
            return lambda row: row[free]
        if expr in (TRUE, FALSE):
            return lambda _: expr == TRUE
        if expr == NULL:
            return lambda _: None
        if op in {"and", "or"}:
            parts = [self._compile(arg, places) for arg in args]
            return _all(parts) if op == "and" else _any(parts)
        if op in {"not", "untrue", "istrue"}:
            inner = self._compile(args[0], places)
            if op == "not":
                return lambda row: None if (found := inner(row)) is None else not found
            return lambda row: (inner(row) is True) == (op == "istrue")
        at = places[args[0]]
        if op == "span":
            return _span_test(value, at)
        if op in {"isnull", "notnull"}:
            return lambda row: (row[at] is None) == (op == "isnull")
        if op == "has":
            member = args[1]
            return lambda row: None if row[at] is None else member in row[at]
        if args[-1] in (TRUE, FALSE):
            wanted = args[1] == TRUE
            return lambda row: None if row[at] is None else row[at] is wanted
        return _column_test(op, [places[arg] for arg in args])


def _all(parts: list[Callable[[tuple[Any, ...]], bool | None]]) -> Callable[[tuple[Any, ...]], bool | None]:
    def test(row: tuple[Any, ...]) -> bool | None:
        found: bool | None = True
        for part in parts:
            value = part(row)
            if value is False:
                return False
            if value is None:
                found = None
        return found

    return test


def _any(parts: list[Callable[[tuple[Any, ...]], bool | None]]) -> Callable[[tuple[Any, ...]], bool | None]:
    def test(row: tuple[Any, ...]) -> bool | None:
        found: bool | None = False
        for part in parts:
            value = part(row)
            if value is True:
                return True
            if value is None:
                found = None
        return found

    return test


def _span_test(value: Span, at: int) -> Callable[[tuple[Any, ...]], bool | None]:
    unknown = True if value.null else None

    def test(row: tuple[Any, ...]) -> bool | None:
        mine = row[at]
        if mine is None:
            return unknown
        for low, low_in, high, high_in in value.parts:
            if low is not None and (mine < low or (mine == low and not low_in)):
                continue
            if high is not None and (mine > high or (mine == high and not high_in)):
                continue
            return True
        return False

    def equality(row: tuple[Any, ...]) -> bool | None:
        mine = row[at]
        if mine is None:
            return unknown
        points = [part.low for part in value.parts if part.low is not None and part.low == part.high]
        if len(points) == len(value.parts):
            return mine in points
        ends = [end for part in value.parts for end in (part.low, part.high) if end is not None]
        return mine not in ends or mine in points

    return equality if value.kind == "text" else test


def _column_test(op: str, places: list[int]) -> Callable[[tuple[Any, ...]], bool | None]:
    def test(row: tuple[Any, ...]) -> bool | None:
        values = [row[place] for place in places]
        if op in {"same", "distinct"}:
            return bool((values[0] == values[1]) == (op == "same"))
        if any(value is None for value in values):
            return None
        if op == "eqclass":
            return all(value == values[0] for value in values)
        left, right = values
        return bool({"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right}[op])

    return test


def _plainest(fact: ColumnFact) -> Hashable:
    return {"uuid": "00000000-0000-0000-0000-000000000001", "json": "{}", "blob": "00", "time": "12:00:00"}.get(
        fact.type, 1
    )


def decide_filters(
    ours: Block, theirs: Block, ctx: Context, checks: tuple[Expr, ...], *, limit: int, deadline: float
) -> Decision:
    """Decide two blocks that are one but for WHERE, the second with the first's source numbers."""
    if checks:
        unaided = decide_filters(ours, theirs, ctx, (), limit=limit, deadline=deadline)
        if unaided.kind in {"proved", "vacuous"}:
            return unaided
    regions = Regions(ours, theirs, ctx, checks)
    built = regions.axes()
    if built is None:
        return OPEN
    keys, axes = built
    left, right = regions.evaluator(regions.ours, keys), regions.evaluator(regions.theirs, keys)
    outcome = decide(axes, left, right, limit=limit, deadline=deadline)
    if isinstance(outcome, TooLarge):
        return OPEN
    if isinstance(outcome, Agreement):
        looked_at = {node for part in (*ours.where, *theirs.where) for node in columns(part)}
        relevant = [check for check in checks if columns(check) & looked_at]
        allowed = [*regions.assumptions, *(f"CHECK ({Wording(ours).of(check)})" for check in relevant)]
        constant = outcome.constant or _constant_where_allowed(axes, left)
        return Decision("vacuous" if constant else "proved", assumptions=tuple(dict.fromkeys(allowed)))
    return _refutation(regions, keys, axes, left, right, outcome)


def _constant_where_allowed(axes: list[Axis], left: Callable[[tuple[Hashable, ...]], bool | None]) -> bool:
    """Whether the answer is one and the same on all rows that the checks allow."""
    answers = {left(row) for row in product(*(axis.values for axis in axes))} - {None}
    return len(answers) < 2


def _refutation(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    regions: Regions,
    keys: list[Expr],
    axes: list[Axis],
    left: Callable[[tuple[Hashable, ...]], bool | None],
    right: Callable[[tuple[Hashable, ...]], bool | None],
    found: Disagreement,
) -> Decision:
    """A row on which the two differ whatever the free atoms say; `open` where there is none such."""
    places = [index for index, key in enumerate(keys) if key.op == "col"]
    free = [index for index, key in enumerate(keys) if key.op != "col"]
    if not regions.honest:
        return OPEN
    if not free:
        row = {keys[index]: found.row[index] for index in places}
        return Decision("refuted", row, (bool(found.left), bool(found.right)))
    combinations = list(product(*(axes[index].values for index in free)))
    if len(combinations) > MAX_FREE:
        return OPEN
    tried = 0
    for values in product(*(axes[index].values for index in places)):
        tried += len(combinations)
        if tried > MAX_FREE * 8:
            return OPEN
        answers: set[tuple[bool | None, bool | None]] = set()
        for combination in combinations:
            cells: list[Hashable] = [None] * len(keys)
            for index, value in zip(places, values, strict=True):
                cells[index] = value
            for index, value in zip(free, combination, strict=True):
                cells[index] = value
            answers.add((left(tuple(cells)), right(tuple(cells))))
        if len(answers) == 1:
            ((mine, its),) = answers
            if mine != its and mine is not None and its is not None:
                return Decision("refuted", {keys[i]: v for i, v in zip(places, values, strict=True)}, (mine, its))
    return OPEN


__all__ = ["Decision", "aligned", "bound", "decide_filters"]
