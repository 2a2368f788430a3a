"""Builds small databases that the schema allows and that a pair of queries is likely to see differently."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random

from harness.witness.conditions import Block, Demands, Place, Spot
from harness.witness.database import Layout, Relation, Rows, Value, comparable
from harness.witness.domains import BASE_DATE, Domain, fitting, kind_of
from harness.witness.drawing import Drawing

MAX_ROWS = 160
MAX_FAMILY = 12

Partial = dict[int, Value]
"""Cells of a row by position; what is absent may be anything."""


class Builder:
    """Makes candidate databases, small ones first; the same seed makes the same sequence."""

    def __init__(
        self,
        layout: Layout,
        *,
        tables: Sequence[Relation],
        demands: Demands,
        domains: Mapping[Place, Domain],
        classes: Mapping[Place, Place],
        focus: frozenset[str],
        fixture: Rows,
        seed: int,
    ) -> None:
        self.layout = layout
        self.tables = tables
        self.demands = demands
        self.domains = domains
        self.classes = classes
        self.focus = focus
        self.fixture = fixture
        self.kinds = {
            Place(relation.name, index): (kind_of(column, Place(relation.name, index), demands), relation)
            for relation in tables
            for index, column in enumerate(relation.columns)
        }
        self.random = Random(seed)  # noqa: S311 - a repeatable choice of candidates, no secret
        counts = sorted({n + d for n in demands.counts for d in (-1, 0, 1) if 0 < n + d <= MAX_ROWS})
        self.sizes = [n for n in counts if n <= MAX_FAMILY] or [1, 2]
        self.large = [n for n in counts if n > MAX_FAMILY]

    def fresh(self) -> Iterator[Rows]:
        """Build candidates without end."""
        index = 0
        while True:
            yield self.candidate(index)
            index += 1

    def candidate(self, index: int) -> Rows:
        """Build one candidate; a larger index allows more rows."""
        random = self.random
        draft = Draft(self)
        families = 1 + random.randrange(1 + min(4, index // 4))
        for number in range(families):
            block = self._block()
            if block is not None:
                self._family(draft, block, index, plain=number == 0 and index % 3 == 0)
        if random.random() < 0.35 or not any(draft.rows.values()):
            for _ in range(1 + random.randrange(4)):
                draft.place(random.choice(self.tables), {}) if self.tables else None
        if self.fixture and index > 20 and random.random() < 0.3:
            self._from_fixture(draft)
        while random.random() < 0.4:
            draft.double()
        return draft.finished()

    def _block(self) -> Block | None:
        pool = self.demands.roots if self.random.random() < 0.7 else self.demands.blocks
        return self.random.choice(pool) if pool else None

    def _family(self, draft: "Draft", block: Block, index: int, plain: bool) -> None:
        """Place one or more instantiations of a block, alike in their groups or in nothing."""
        random = self.random
        drawing = Drawing(self.domains, self.classes, self.kinds, random, self.focus)
        drawing.enter(block, flip=not plain and random.random() < 0.45)
        times, fixed = 1, frozenset[Spot]()
        dice = random.random()
        if dice < 0.6:
            times = random.choice(self.sizes)
            if self.large and index > 6 and random.random() < 0.4:
                times = random.choice(self.large)
            if drawing.groups and random.random() < 0.75:
                fixed = drawing.group_roots()
        omitted = drawing.omission() if not plain and random.random() < 0.25 else None
        held: dict[Spot, Value] = {}
        for _ in range(times):
            values = drawing.solve(held, draft.active)
            if fixed:
                held = {root: value for root, value in values.items() if root in fixed}
            for instance in drawing.instances:
                if instance != omitted:
                    relation = self.layout.find(self.demands.tables[instance])
                    if relation is not None:
                        draft.place(relation, drawing.cells(instance, values))
            if draft.size > MAX_ROWS:
                return

    def _from_fixture(self, draft: "Draft") -> None:
        for relation in self.tables:
            content = self.fixture.get(relation.name)
            if content:
                for row in self.random.sample(content, min(len(content), 1 + self.random.randrange(3))):
                    draft.place(relation, dict(enumerate(row)))

    def varied(self, rows: Rows) -> Rows:
        """A candidate that is one small edit away from `rows`."""
        random = self.random
        draft = Draft(self)
        content = [(relation, row) for relation in self.tables for row in rows.get(relation.name, ())]
        if not content:
            return self.candidate(1)
        victim = random.randrange(len(content))
        edit = random.randrange(4)
        for number, (relation, row) in enumerate(content):
            cells: Partial = dict(enumerate(row))
            if number == victim and edit == 0:
                continue
            if number == victim and edit in {1, 2}:
                self._edit(relation, cells)
            draft.place(relation, cells)
        if edit == 3:
            relation, row = content[victim]
            cells = dict(enumerate(row))
            for key in relation.keys:
                for index in key:
                    cells.pop(index, None)
            if random.random() < 0.6:
                self._edit(relation, cells)
            draft.place(relation, cells)
        return draft.finished()

    def _edit(self, relation: Relation, cells: Partial) -> None:
        relevant = [i for i in range(len(relation.columns)) if Place(relation.name, i) in self.demands.used]
        index = self.random.choice(relevant or list(range(len(relation.columns))))
        values = self.domains[Place(relation.name, index)].values
        if index not in relation.required and self.random.random() < 0.2:
            cells[index] = None
        elif values:
            cells[index] = self.random.choice(values)


class Draft:
    """A database while it is being built: rows are placed so that keys stay unique and parents exist."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.rows: dict[str, list[list[Value]]] = {relation.name: [] for relation in builder.tables}
        self.seen: dict[tuple[str, tuple[int, ...]], dict[tuple[object, ...], list[Value]]] = {}
        self.size = 0
        random = builder.random
        self.null_rate = random.choice((0.0, 0.0, 0.1, 0.3))
        self.width = random.choice((1, 2, 2, 3, 4))
        self.named_rate = random.choice((0.4, 0.7, 0.9))
        self.spread = random.random() < (0.45 if builder.demands.counts else 0.1)
        self.choices: dict[Place, list[Value]] = {}
        self.cursor = 0

    def active(self, place: Place) -> list[Value]:
        """The few values that this database uses for a column and for those it is compared with."""
        root = self.builder.classes.get(place, place)
        found = self.choices.get(root)
        if found is None:
            found = self.choices[root] = self._choose(self.builder.domains.get(place))
        return found

    def _choose(self, domain: Domain | None) -> list[Value]:
        random = self.builder.random
        if domain is None:
            return []
        found: list[Value] = []
        for _ in range(self.width):
            dice = random.random()
            pools = (domain.named, domain.near, domain.plain)
            order = (
                pools if dice < self.named_rate else ((pools[1], pools[2], pools[0]) if dice < 0.95 else pools[::-1])
            )
            pool = next((p for p in order if p), ())
            if pool:
                found.append(random.choice(pool))
        return found

    def place(self, relation: Relation, cells: Partial, depth: int = 0) -> list[Value] | None:
        """Add a row with these cells, and the parents it needs; a row with the same key takes the cells over."""
        if self.size > MAX_ROWS or depth > 6:
            return None
        for key in relation.keys:
            if all(index in cells for index in key):
                same = self._find(relation, key, [cells[index] for index in key])
                if same is not None:
                    self._overlay(relation, same, cells)
                    return same
        row = self._fill(relation, cells)
        for key in relation.keys:
            if not self._freed(relation, key, row, cells):
                return None
        if any(row[index] is None for index in relation.required):
            return None
        self._refer(relation, row, depth)
        self.rows[relation.name].append(row)
        self.size += 1
        self._register(relation, row)
        return row

    def _register(self, relation: Relation, row: list[Value]) -> None:
        for key in relation.keys:
            self.seen.setdefault((relation.name, key), {})[_signature(row[i] for i in key)] = row

    def _find(self, relation: Relation, key: tuple[int, ...], values: list[Value]) -> list[Value] | None:
        if None in values:
            return None
        return self.seen.get((relation.name, key), {}).get(_signature(values))

    def _overlay(self, relation: Relation, row: list[Value], cells: Partial) -> None:
        keyed = {index for key in relation.keys for index in key}
        referring = {index for reference in relation.references for index in reference.columns}
        for index, value in cells.items():
            if index not in keyed and index not in referring and not (value is None and index in relation.required):
                row[index] = value

    def _fill(self, relation: Relation, cells: Partial) -> list[Value]:
        keyed = {index for key in relation.keys if len(key) == 1 for index in key}
        row: list[Value] = []
        for index in range(len(relation.columns)):
            if index in cells and not (cells[index] is None and index in relation.required):
                row.append(cells[index])
            elif index in keyed:
                row.append(self._unused(relation, index))
            else:
                row.append(self._pick(relation, index))
        for reference in relation.references:
            self._borrow(
                columns=reference.columns,
                parent=reference.parent,
                parent_columns=reference.parent_columns,
                cells=cells,
                row=row,
                relation=relation,
            )
        return row

    def _borrow(
        self,
        *,
        columns: tuple[int, ...],
        parent: str,
        parent_columns: tuple[int, ...],
        cells: Partial,
        row: list[Value],
        relation: Relation,
    ) -> None:
        """Let a foreign key that nothing asks of point at a parent that is there already."""
        parents = self.rows.get(parent, [])
        if columns in relation.keys:
            # One row for each parent: those that have theirs are no choice.
            parents = [p for p in parents if self._find(relation, columns, [p[i] for i in parent_columns]) is None]
        if not parents or any(index in cells for index in columns) or self.builder.random.random() < 0.2:
            return
        chosen = self.builder.random.choice(parents)
        for index, there in zip(columns, parent_columns, strict=True):
            fitted = self._fitted(relation, index, chosen[there])
            if fitted is not None:
                row[index] = fitted

    def _fitted(self, relation: Relation, index: int, value: Value) -> Value:
        column = relation.columns[index]
        kind = self.builder.kinds[Place(relation.name, index)][0]
        return next(iter(fitting(value, kind, column)), None)

    def _pick(self, relation: Relation, index: int) -> Value:
        random = self.builder.random
        place = Place(relation.name, index)
        if index not in relation.required and random.random() < self.null_rate:
            return None
        if self.spread and relation.columns[index].values is None and random.random() < 0.9:
            # Rows that differ in every column leave no tie at a LIMIT.
            distinct = self._unused(relation, index)
            if distinct is not None:
                return distinct
        active = self.active(place)
        if active and random.random() < 0.85:
            fitted = self._fitted(relation, index, random.choice(active))
            domain = self.builder.domains[place]
            if fitted is not None and (relation.columns[index].values is None or fitted in domain.values):
                return fitted
        values = self.builder.domains[place].values
        return random.choice(values) if values else None

    def _unused(self, relation: Relation, index: int) -> Value:
        place = Place(relation.name, index)
        taken = {_signature([row[index]]) for row in self.rows[relation.name]}
        domain = self.builder.domains[place]
        pool = [*self.active(place), *domain.named] if self.builder.random.random() < 0.4 else []
        for value in (*pool, *domain.plain, *domain.near, *domain.named):
            fitted = self._fitted(relation, index, value)
            if fitted is not None and _signature([fitted]) not in taken and fitted != "":
                return fitted
        self.cursor += 1
        later = (BASE_DATE + timedelta(days=self.cursor)).isoformat()
        for value in (self.cursor + 10, f"k{self.cursor}", later):
            fitted = self._fitted(relation, index, value)
            if fitted is not None and _signature([fitted]) not in taken:
                return fitted
        return None

    def _freed(self, relation: Relation, key: tuple[int, ...], row: list[Value], cells: Partial) -> bool:
        """Whether the row's key is free, after trying others for the cells that nothing asks of."""
        for _ in range(6):
            if self._find(relation, key, [row[index] for index in key]) is None:
                return True
            open_ = [index for index in key if index not in cells]
            if not open_:
                return False
            for index in open_:
                if len(key) == 1:
                    row[index] = self._unused(relation, index)
                    continue
                values = self.builder.domains[Place(relation.name, index)].values
                row[index] = self.builder.random.choice(values) if values else row[index]
        return False

    def _refer(self, relation: Relation, row: list[Value], depth: int) -> None:
        """Make sure that each parent exists; where none can be made, the reference becomes NULL."""
        for reference in relation.references:
            values = [row[index] for index in reference.columns]
            if None in values:
                continue
            parent = self.builder.layout.find(reference.parent)
            if parent is None:
                continue
            wanted = [comparable(value) for value in values]
            present = any(
                [comparable(other[index]) for index in reference.parent_columns] == wanted
                for other in self.rows[parent.name]
            )
            if present or (parent is relation and self._is_own(row, reference.columns, reference.parent_columns)):
                continue
            cells = {
                there: self._fitted(parent, there, value)
                for there, value in zip(reference.parent_columns, values, strict=True)
            }
            made = self.place(parent, cells, depth + 1) if None not in cells.values() else None
            if made is None:
                for index in reference.columns:
                    if index not in relation.required:
                        row[index] = None

    @staticmethod
    def _is_own(row: list[Value], columns: tuple[int, ...], parent_columns: tuple[int, ...]) -> bool:
        return all(comparable(row[a]) == comparable(row[b]) for a, b in zip(columns, parent_columns, strict=True))

    def double(self) -> None:
        """Add a row that repeats another but for its keys, sometimes with one more cell changed."""
        random = self.builder.random
        filled = [relation for relation in self.builder.tables if self.rows[relation.name]]
        if not filled:
            return
        relation = random.choice(filled)
        cells = dict(enumerate(random.choice(self.rows[relation.name])))
        for key in relation.keys:
            # Of a composite key one column is enough to keep two rows apart.
            cells.pop(key[0] if len(key) == 1 else random.choice(key), None)
        if random.random() < 0.5 and cells:
            cells.pop(random.choice(sorted(cells)), None)
        self.place(relation, cells)

    def finished(self) -> Rows:
        """The rows, frozen."""
        return {name: [tuple(row) for row in content] for name, content in self.rows.items()}


def _signature(values: Iterable[Value]) -> tuple[object, ...]:
    return tuple(value.lower() if isinstance(value, str) else value for value in map(comparable, values))
