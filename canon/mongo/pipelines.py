"""Pipelines in normal form: a plan of lasting stages (match, sort, window, unwind, group, …) and the result's shape.

A find, a count and a distinct are plans too. `$match` is placed as early as it may stand, projections become the
shape (see `canon.mongo.shapes`), and what stages make (group keys, accumulators, looked-up documents) is named by
what it is, not by the name that the text gives it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from canon.errors import ReadError
from canon.logic import forms
from canon.mongo.algebra import (
    Expression,
    literal,
    parts_of,
    read_expression,
    show,
)
from canon.mongo.envelope import MongoQuery, sort_keys
from canon.mongo.fields import Field
from canon.mongo.filters import Atom, Form, Literal, Reader, atoms_of, form_key, simplified
from canon.mongo.identities import Trace
from canon.mongo.shapes import (
    NeedsWholeDocumentError,
    Shape,
    extended,
    projected,
    roots_of,
    subject_of,
    without,
)
from canon.mongo.values import Document, text

ORDER_SENSITIVE = frozenset({"$first", "$last", "$push", "$firstN", "$lastN", "$mergeObjects", "$concatArrays"})
"""Accumulators whose result depends on the order in which documents come."""

ORDER_FREE = frozenset(
    {
        "$sum",
        "$avg",
        "$min",
        "$max",
        "$addToSet",
        "$stdDevPop",
        "$stdDevSamp",
        "$minN",
        "$maxN",
        "$top",
        "$topN",
        "$bottom",
        "$bottomN",
        "$median",
        "$percentile",
        "$setUnion",
    }
)

NEVER_MISSING = frozenset(
    {
        "$add",
        "$subtract",
        "$multiply",
        "$divide",
        "$mod",
        "$abs",
        "$ceil",
        "$floor",
        "$round",
        "$trunc",
        "$year",
        "$month",
        "$dayOfMonth",
        "$dayOfWeek",
        "$dayOfYear",
        "$hour",
        "$minute",
        "$second",
        "$week",
        "$dateToString",
        "$dateTrunc",
        "$toLower",
        "$toUpper",
        "$concat",
        "$substr",
        "$substrCP",
        "$size",
        "$toString",
        "$toInt",
        "$toDouble",
        "$toDate",
        "$eq",
        "$ne",
        "$lt",
        "$lte",
        "$and",
        "$or",
        "$not",
        "$in",
        "$strLenCP",
        "$isArray",
        "$type",
    }
)
"""Operators that give null, never nothing, where an operand is missing."""

OPAQUE_STAGES = frozenset(
    {
        "$bucketAuto",
        "$changeStream",
        "$collStats",
        "$densify",
        "$documents",
        "$fill",
        "$geoNear",
        "$graphLookup",
        "$indexStats",
        "$rankFusion",
        "$redact",
        "$sample",
        "$search",
        "$searchMeta",
        "$setWindowFields",
        "$vectorSearch",
        "$listSessions",
        "$planCacheStats",
    }
)
"""Stages that are compared as they are written."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A lasting stage.

    Attributes:
        kind: `match`, `sort`, `window`, `unwind`, `group`, `lookup`, `shape`, or `opaque`.
        text: equal exactly for equal stages of a kind; of a group, without the accumulators.
        form: of a match, its condition.
        reads: the top-level fields and slots that the stage reads; `""` where it reads whole documents.
        makes: what it replaces or makes: the unwound root, the looked-up slot.
        keys: of a group, the terms of its keys by slot.
        made: of a group, what each accumulator's slot is made of: the roots it reads and whether their order matters.
        skip: of a window, how many documents are left out.
        limit: of a window, how many follow.
    """

    kind: str
    text: str = ""
    form: Form = forms.TRUE
    reads: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()
    keys: Mapping[str, Expression] = field(default_factory=dict)
    made: Mapping[str, tuple[frozenset[str], bool]] = field(default_factory=dict)
    skip: int = 0
    limit: int | None = None

    @property
    def shown(self) -> str:
        """The stage as text."""
        if self.kind == "match":
            return f"match {form_key(self.form)}"
        if self.kind == "group":
            return f"group by {self.text or 'nothing'}: {', '.join(sorted(self.made))}"
        return f"{self.kind} {self.text}".strip()


@dataclass(frozen=True, slots=True)
class Plan:
    """A query in normal form.

    Attributes:
        stages: the lasting stages.
        shape: the shape of the result.
        result: `documents`, `count` (one number) or `distinct f` (the values of a field).
        used: the identities used.
        sequence: the conditions in the order written.
        coerced: whether a text was read as a date.
    """

    stages: tuple[Stage, ...]
    shape: Shape
    result: str = "documents"
    used: frozenset[str] = frozenset()
    sequence: tuple[str, ...] = ()
    coerced: bool = False

    @property
    def key(self) -> str:
        """A text that is equal exactly for equal plans."""
        return " | ".join([*(stage.shown for stage in self.stages), self.output])

    @property
    def output(self) -> str:
        """The result's shape as text; a count is the sum of ones, whatever its name."""
        return self.result if self.result != "documents" else self.shape.text()

    @property
    def single_count(self) -> bool:
        """Whether the result is one document with the number of documents alone."""
        if not self.stages or self.stages[-1].kind != "group" or self.stages[-1].text:
            return False
        return self.shape.closed and list(self.shape.fields.values()) == [("slot", "#$sum(1)")]

    @property
    def blocks(self) -> tuple[tuple[Form, Stage | None], ...]:
        """The stages, each with the condition that stands before it; the last condition stands before the result."""
        found: list[tuple[Form, Stage | None]] = []
        pending: Form = forms.TRUE
        for stage in self.stages:
            if stage.kind == "match":
                pending = stage.form
            else:
                found.append((pending, stage))
                pending = forms.TRUE
        return (*found, (pending, None))


@dataclass(slots=True)
class Planner:
    """Builds a plan, stage by stage."""

    fields: Mapping[str, Field]
    trace: Trace
    stages: list[Stage] = field(default_factory=list)
    shape: Shape = field(default_factory=Shape)
    coerced: bool = False
    lasting: bool = False
    documents: frozenset[str] = frozenset()

    def add(self, stage: Document) -> None:
        """Add a stage of a pipeline.

        Raises:
            ReadError: there is no such stage, or MongoDB would refuse it.
        """
        key, argument = next(iter(stage.items()))
        try:
            self.dispatch(key, argument)
        except NeedsWholeDocumentError:
            self.settle()
            try:
                self.dispatch(key, argument)
            except NeedsWholeDocumentError:
                self.opaque(f"{key} {text(argument)}")

    def dispatch(self, key: str, argument: object) -> None:
        """Add a stage by its name."""
        match key:
            case "$match":
                self.match(document_of(key, argument))
            case "$sort":
                self.sort(sort_keys(argument))
            case "$skip" | "$limit":
                self.window(key, argument)
            case "$project":
                self.shape = projected(self.shape, document_of(key, argument), self.trace)
            case "$addFields" | "$set":
                self.trace.note("stage_spelling")
                self.shape = extended(self.shape, document_of(key, argument), self.trace)
            case "$unset":
                self.trace.note("stage_spelling")
                names = argument if isinstance(argument, list) else [argument]
                self.shape = without(self.shape, [str(name) for name in names])
            case "$unwind":
                self.unwind(argument)
            case "$group":
                self.group(document_of(key, argument))
            case "$count":
                self.count(argument)
            case "$sortByCount":
                self.trace.note("sort_by_count")
                self.group({"_id": argument, "count": {"$sum": 1}})
                self.sort((("count", -1),))
            case "$replaceRoot" | "$replaceWith":
                self.replace_root(key, argument)
            case _:
                self.rarer(key, argument)

    def rarer(self, key: str, argument: object) -> None:
        """Add a stage that is compared more or less as it is written."""
        match key:
            case "$lookup":
                self.lookup(document_of(key, argument))
            case "$bucket":
                self.bucket(document_of(key, argument))
            case "$facet":
                self.facet(document_of(key, argument))
            case "$unionWith":
                self.union(argument)
            case _ if key in OPAQUE_STAGES:
                self.opaque(f"{key} {text(argument)}")
            case _:
                raise ReadError("unparseable", f"{key} is no stage of a pipeline")

    # -- lasting stages -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Make the shape a stage, for what reads whole documents."""
        if self.shape.identity:
            return
        self.stages.append(Stage("shape", self.shape.text(), reads=frozenset(self.shape.reads())))
        names = self.shape.fields if self.shape.closed else {}
        self.shape = Shape(self.shape.closed, {name: ("path", name) for name in names})
        if not self.shape.closed:
            self.shape = Shape()
        self.lasting = True
        self.documents = frozenset()

    def opaque(self, shown: str) -> None:
        """Add a stage that is compared as it is written, and reads and makes whatever it will."""
        self.settle()
        self.stages.append(Stage("opaque", shown, reads=frozenset({""})))
        self.shape = Shape()
        self.lasting = True
        self.documents = frozenset()

    def match(self, condition: Document) -> None:
        """Add a `$match`, each of its conjuncts as early as it may stand."""
        form = self.form(condition)
        for part in sorted(forms.members(form, "and"), key=form_key):
            if part != forms.TRUE:
                self.place(part)

    def form(self, condition: Document) -> Form:
        """A filter over the shape as a form over the documents read.

        Raises:
            NeedsWholeDocumentError: it reads whole documents.
        """
        stored = not self.lasting
        reader = _ShapedReader(self.fields if stored else {}, self.trace, shape=self.shape, documents=self.documents)
        form = reader.filter(condition)
        self.coerced = self.coerced or reader.coerced
        if not self.shape.identity and any(atom.operator == "opaque" and not atom.path for atom in atoms_of(form)):
            raise NeedsWholeDocumentError
        return form

    def place(self, part: Form) -> None:
        """Put a condition before the stages that it commutes with."""
        at = len(self.stages)
        while at > 0:
            moved = _before(part, self.stages[at - 1])
            if moved is None:
                break
            if self.stages[at - 1].kind == "group":
                self.trace.note("match_below_group")
            elif self.stages[at - 1].kind != "match":
                self.trace.note("match_placement")
            part = moved
            at -= 1
        if at < len(self.stages) and self.stages[at].kind == "match":
            self.trace.note("match_placement")
            joined = simplified("and", [self.stages[at].form, part], self.trace)
            self.stages[at] = _match(joined)
        else:
            self.stages.insert(at, _match(part))

    def sort(self, keys: tuple[tuple[str, object], ...]) -> None:
        """Add a `$sort`."""
        if not keys:
            return
        if any(isinstance(order, dict) for _, order in keys) and not self.shape.identity:
            raise NeedsWholeDocumentError
        subjects: dict[str, object] = {}
        roots: set[str] = set()
        for key, order in keys:
            subject = self.shape.subject(key, self.documents)
            roots |= _roots_of_subject(subject, self.shape.at(key))
            subjects.setdefault(".".join(subject), order)
        if self.stages and self.stages[-1].kind == "sort":
            self.trace.note("lost_sort")
            self.stages.pop()
        shown = ", ".join(f"{subject} {text(order)}" for subject, order in subjects.items())
        self.stages.append(Stage("sort", shown, reads=frozenset(roots)))

    def window(self, key: str, argument: object) -> None:
        """Add a `$skip` or a `$limit`."""
        if isinstance(argument, bool) or not isinstance(argument, int | float) or argument != int(argument):
            raise ReadError("unparseable", f"{key} takes a whole number, not {argument!r:.60}")
        number = int(argument)
        if number < 0 or (number == 0 and key == "$limit"):
            raise ReadError("unparseable", f"{key} takes a positive number, not {number}")
        if key == "$skip" and number == 0:
            return
        skip, limit = 0, None
        if self.stages and self.stages[-1].kind == "window":
            self.trace.note("window_merging")
            last = self.stages.pop()
            skip, limit = last.skip, last.limit
        if key == "$skip":
            skip += number
            limit = None if limit is None else max(0, limit - number)
        else:
            limit = number if limit is None else min(limit, number)
        self.stages.append(Stage("window", f"skip {skip} limit {limit}", skip=skip, limit=limit))

    def unwind(self, argument: object) -> None:
        """Add an `$unwind`."""
        spec = argument if isinstance(argument, dict) else {"path": argument}
        if isinstance(argument, dict):
            self.trace.note("stage_spelling")
        path = spec.get("path")
        if (
            not isinstance(path, str)
            or not path.startswith("$")
            or spec.keys()
            - {
                "path",
                "preserveNullAndEmptyArrays",
                "includeArrayIndex",
            }
        ):
            raise ReadError("unparseable", f"$unwind takes a field path such as '$items', not {path!r:.60}")
        keeps, index = bool(spec.get("preserveNullAndEmptyArrays", False)), spec.get("includeArrayIndex")
        name, _, rest = path[1:].partition(".")
        term = self.shape.root(name)
        base = term[1] if term[0] in ("path", "slot") else None
        if base is None or (term[0] == "path" and "." in base) or self._elsewhere(base, name):
            if self.shape.identity or self.settled(name):
                base = name
            else:
                raise NeedsWholeDocumentError
        shown = f"{base}{'.' + rest if rest else ''}{' kept' if keeps else ''}"
        roots = {base}
        fields = dict(self.shape.fields)
        if isinstance(index, str):
            slot = self.fresh(f"#index of {shown}")
            shown += " with index"
            roots.add(slot)
            fields[index.removeprefix("$")] = ("slot", slot)
        if not self.shape.identity:
            self.trace.note("projection_placement")
        declared = self.fields.get(base) if not self.lasting else None
        if not rest and (base.startswith("#lookup ") or (declared is not None and declared.item == "object")):
            # What a lookup finds, and the elements of an array declared to hold documents, are no arrays.
            self.documents |= {base}
        self.stages.append(Stage("unwind", shown, reads=frozenset({base}), makes=frozenset(roots)))
        self.shape = Shape(self.shape.closed, fields)

    def settled(self, name: str) -> bool:
        """Whether the shape says nothing but which fields there are."""
        return (
            self.shape.closed
            and all(term == ("path", own) for own, term in self.shape.fields.items())
            and (name in self.shape.fields)
        )

    def _elsewhere(self, base: str, name: str) -> bool:
        """Whether another field of the shape reads what is to be unwound."""
        others = [term for own, term in self.shape.fields.items() if own != name]
        hidden = not self.shape.closed and base != name and base not in self.shape.fields and base[:1] != "#"
        return hidden or any(roots_of(term) & {base, ""} for term in others)

    def group(self, spec: Document) -> None:
        """Add a `$group`."""
        if "_id" not in spec:
            raise ReadError("unparseable", "$group names its key as _id; null groups all documents")
        keys: dict[str, Expression] = {}
        identity = read_expression(spec["_id"], self.trace)
        if _reads_all(identity) and not self.shape.identity:
            raise NeedsWholeDocumentError
        made: dict[str, tuple[frozenset[str], bool]] = {}
        fields: dict[str, Expression] = {"_id": self.key(self.shape.through(identity), keys, whole=True)}
        for name, accumulator in spec.items():
            if name != "_id":
                fields[name] = self.accumulator(name, accumulator, made)
        if any(term[0] == "path" and name != term[1] for name, term in self.shape.fields.items()):
            self.trace.note("field_renaming")
        self.finish_group("", keys, made, fields)

    def finish_group(
        self,
        shown: str,
        keys: Mapping[str, Expression],
        made: Mapping[str, tuple[frozenset[str], bool]],
        fields: dict[str, Expression],
    ) -> None:
        """Append a group and read on through what it has made."""
        reads = frozenset().union(*(roots_of(term) for term in keys.values())) if keys else frozenset()
        label = ", ".join([*([shown] if shown else []), *sorted(keys)])
        self.stages.append(Stage("group", label, reads=reads, keys=dict(keys), made=dict(made)))
        self.shape = Shape(True, fields)
        self.lasting = True
        self.documents = frozenset()

    def key(self, term: Expression, keys: dict[str, Expression], *, whole: bool) -> Expression:
        """A group key as a term over the groups; constants are no keys.

        Alone, a missing value groups with null; in a document of keys, the two are apart.
        """
        if term[0] == "lit":
            return term
        if term[0] == "missing":
            return literal(None) if whole else term
        if term[0] == "rec":
            return ("rec", tuple((name, self.key(part, keys, whole=False)) for name, part in term[1]))
        apart = not whole and not self.never_missing(term)
        slot = f"#key {'or missing ' if apart else ''}{show(term)}"
        keys[slot] = term
        return ("slot", slot)

    def never_missing(self, term: Expression) -> bool:
        """Whether a term always has a value, null included."""
        if term[0] == "op":
            return term[1] in NEVER_MISSING
        if term[0] == "slot":
            return term[1].startswith(("#key ", "#$")) and not term[1].startswith("#key or missing")
        if term[0] == "path" and not self.lasting:
            declared = self.fields.get(term[1])
            return "." not in term[1] and declared is not None and not declared.nullable
        return False

    def accumulator(self, name: str, spec: object, made: dict[str, tuple[frozenset[str], bool]]) -> Expression:
        """An accumulator as a slot named by what it is."""
        if not isinstance(spec, dict) or len(spec) != 1:
            raise ReadError("unparseable", f"{name} in $group takes one accumulator, not {spec!r:.60}")
        operator, argument = next(iter(spec.items()))
        if operator == "$count":
            operator, argument = "$sum", 1
            self.trace.note("count_as_group")
        if operator not in ORDER_SENSITIVE and operator not in ORDER_FREE:
            raise ReadError("unparseable", f"{operator} is no accumulator")
        term = read_expression(argument, self.trace)
        if _reads_all(term) and not self.shape.identity:
            raise NeedsWholeDocumentError
        term = self.shape.through(term)
        slot = f"#{operator}({show(term)})"
        made[slot] = (frozenset(roots_of(term)), operator in ORDER_SENSITIVE)
        return ("slot", slot)

    def count(self, name: object) -> None:
        """Add a `$count`."""
        if not isinstance(name, str) or not name or name.startswith("$") or "." in name:
            raise ReadError("unparseable", f"$count takes a field name, not {name!r:.60}")
        self.trace.note("count_as_group")
        self.group({"_id": None, name: {"$sum": 1}})
        self.shape = without(self.shape, ["_id"])

    def replace_root(self, key: str, argument: object) -> None:
        """Add a `$replaceRoot`."""
        spec = argument
        if key == "$replaceRoot":
            spec = document_of(key, argument).get("newRoot")
        self.trace.note("stage_spelling")
        term = read_expression(spec, self.trace)
        if _reads_all(term) and not self.shape.identity:
            raise NeedsWholeDocumentError
        term = self.shape.through(term)
        if term[0] == "rec":
            self.shape = Shape(True, {name: part for name, part in term[1] if part[0] != "missing"})
            return
        self.stages.append(Stage("opaque", f"root {show(term)}", reads=frozenset(roots_of(term))))
        self.shape = Shape()
        self.lasting = True
        self.documents = frozenset()

    def lookup(self, spec: Document) -> None:
        """Add a `$lookup`; what it finds is named by what was looked up."""
        name = spec.get("as")
        if not isinstance(name, str):
            raise ReadError("unparseable", "$lookup names its result with as")
        if "." in name:
            self.opaque(f"$lookup {text(spec)}")
            return
        roots: set[str] = set()
        parts = [f"from {text(spec.get('from'))}"]
        local = spec.get("localField")
        if isinstance(local, str):
            subject = self.shape.subject(local, self.documents)
            roots |= _roots_of_subject(subject, self.shape.at(local))
            parts.append(f"where {'.'.join(subject)} is {spec.get('foreignField')}")
        pipeline = spec.get("pipeline")
        if isinstance(pipeline, list):
            parts.append(self._inner(spec, pipeline, roots))
        slot = self.fresh("#lookup " + " ".join(parts))
        self.trace.note("field_renaming")
        self.stages.append(Stage("lookup", slot, reads=frozenset(roots), makes=frozenset({slot})))
        self.shape = Shape(self.shape.closed, {**self.shape.fields, name: ("slot", slot)})

    def fresh(self, slot: str) -> str:
        """A slot's name that no stage has made yet: a lookup done again finds anew what may have been unwound."""
        while any(slot in stage.makes for stage in self.stages):
            slot += "'"
        return slot

    def _inner(self, spec: Document, pipeline: list[object], roots: set[str]) -> str:
        """The pipeline of a `$lookup` as text, its variables replaced by what they stand for."""
        variables: dict[str, str] = {}
        for name, value in document_of("let", spec.get("let", {})).items():
            term = read_expression(value, self.trace)
            if _reads_all(term) and not self.shape.identity:
                raise NeedsWholeDocumentError
            term = self.shape.through(term)
            roots |= roots_of(term)
            variables[name] = f"«{show(term)}»"
        return f"through {self.nested(_renamed(pipeline, variables))}"

    def nested(self, pipeline: object) -> str:
        """A pipeline within the pipeline, as text."""
        if not isinstance(pipeline, list):
            raise ReadError("unparseable", f"a pipeline is a list of stages, not {pipeline!r:.60}")
        inner = Planner({}, Trace(), lasting=True)
        for stage in pipeline:
            if not isinstance(stage, dict) or len(stage) != 1:
                raise ReadError("unparseable", f"{stage!r:.60} is no stage")
            inner.add(stage)
        self.trace.used |= inner.trace.used
        return f"({inner.plan().key})"

    def bucket(self, spec: Document) -> None:
        """Add a `$bucket`: a group whose key is a range."""
        by = read_expression(spec.get("groupBy"), self.trace)
        if _reads_all(by) and not self.shape.identity:
            raise NeedsWholeDocumentError
        term = self.shape.through(by)
        made: dict[str, tuple[frozenset[str], bool]] = {}
        shown = (
            f"bucket {text(spec.get('boundaries'))} else {text(spec.get('default')) if 'default' in spec else 'error'}"
        )
        slot = f"#{shown} of {show(term)}"
        fields: dict[str, Expression] = {"_id": ("slot", slot)}
        output = spec.get("output", {"count": {"$sum": 1}})
        for name, accumulator in document_of("output", output).items():
            fields[name] = self.accumulator(name, accumulator, made)
        self.finish_group(slot, {}, made, fields)
        self.stages[-1] = replace(self.stages[-1], reads=frozenset(roots_of(term)))

    def facet(self, spec: Document) -> None:
        """Add a `$facet`: pipelines side by side, each over the documents so far."""
        self.settle()
        found = {name: self.nested(pipeline) for name, pipeline in spec.items()}
        slots = {name: f"#facet {shown}" for name, shown in found.items()}
        self.stages.append(Stage("opaque", f"facet {'; '.join(sorted(set(slots.values())))}", reads=frozenset({""})))
        self.shape = Shape(True, {name: ("slot", slot) for name, slot in slots.items()})
        self.lasting = True
        self.documents = frozenset()

    def union(self, argument: object) -> None:
        """Add a `$unionWith`."""
        self.settle()
        spec = argument if isinstance(argument, dict) else {"coll": argument}
        shown = f"union with {text(spec.get('coll'))} {self.nested(spec.get('pipeline', []))}"
        self.stages.append(Stage("opaque", shown, reads=frozenset({""})))
        self.shape = Shape()
        self.lasting = True
        self.documents = frozenset()

    # -- the end --------------------------------------------------------------------------------------------------

    def plan(self, result: str = "documents") -> Plan:
        """The plan so far, without what leaves no trace in the result."""
        needed = self.shape.reads() if result == "documents" else set()
        if result == "count":
            needed = {"#$sum(1)"}
        elif result.startswith("distinct"):
            needed = {""}
        kept: list[Stage] = []
        ordered = True
        for stage in reversed(self.stages):
            if stage.kind == "sort" and not ordered:
                self.trace.note("lost_sort")
                continue
            if stage.kind == "lookup" and not stage.makes & needed and "" not in needed:
                self.trace.note("unused_lookup")
                continue
            if stage.kind == "group":
                made = {slot: own for slot, own in stage.made.items() if slot in needed or "" in needed}
                stage = replace(stage, made=made)  # noqa: PLW2901
                ordered = any(sensitive for _, sensitive in made.values())
                needed = set(stage.reads).union(*(reads for reads, _ in made.values()))
            elif stage.kind == "match":
                needed |= _reads_of(stage.form)
            else:
                needed |= stage.reads
                ordered = ordered or stage.kind in ("window", "opaque")
            kept.append(stage)
        return Plan(
            tuple(reversed(kept)),
            self.shape,
            result,
            frozenset(self.trace.used),
            tuple(self.trace.sequence),
            self.coerced,
        )


class _ShapedReader(Reader):
    """Reads a filter over a shape as one over the documents read."""

    def __init__(self, fields: Mapping[str, Field], trace: Trace, shape: Shape, documents: frozenset[str]) -> None:
        super().__init__(fields, trace)
        self.shape = shape
        self.documents = documents

    def located(self, path: str) -> tuple[str, ...]:
        """A path over the shape as a path over the documents read."""
        return self.shape.subject(path, self.documents)

    def expression(self, expression: Expression, positive: bool) -> Form:
        """The form of `$expr`."""
        if not self.shape.identity and any(part[0] == "path" for part in parts_of(expression)):
            return Reader(self.fields, self.trace).expression(self.shape.through(expression), positive)
        if not self.shape.identity and _reads_all(expression):
            raise NeedsWholeDocumentError
        return super().expression(expression, positive)


def _reads_all(term: Expression) -> bool:
    return any(part[0] == "var" and part[1].split(".")[0] in ("ROOT", "CURRENT") for part in parts_of(term))


def _match(form: Form) -> Stage:
    return Stage("match", form=form, reads=frozenset(_reads_of(form)))


def _reads_of(form: Form) -> set[str]:
    found: set[str] = set()
    for atom in atoms_of(form):
        if atom.operator == "$expr":
            assert isinstance(atom.argument, tuple)
            found |= roots_of(atom.argument)
        elif not atom.path:
            found.add("")
        else:
            found |= {atom.path[0]} if atom.path[0][:1] != "=" else {atom.path[0], *_named_within(atom.path[0])}
    return found


def _named_within(root: str) -> set[str]:
    """What a computed root may read: any slot or field, as far as a place for its condition goes."""
    return {"", root}


def _roots_of_subject(subject: tuple[str, ...], term: Expression) -> set[str]:
    return {subject[0]} if subject[0][:1] != "=" else roots_of(term)


def _before(part: Form, stage: Stage) -> Form | None:
    """A condition that stands after a stage as one that stands before it; `None` where it may not stand there."""
    match stage.kind:
        case "match" | "sort":
            return part
        case "unwind" | "lookup":
            return part if not _reads_of(part) & (stage.makes | {""}) else None
        case "group":
            return _below_group(part, stage)
        case _:
            return None


def _below_group(part: Form, stage: Stage) -> Form | None:
    """A condition on the keys of a group as one on the documents grouped."""
    if isinstance(part, forms.Junction):
        moved = [_below_group(inner, stage) for inner in part.parts]
        if any(inner is None for inner in moved):
            return None
        return forms.conjunction(moved) if part.kind == "and" else forms.disjunction(moved)
    if not isinstance(part, Literal) or not part.atom.path:
        return None
    atom = part.atom
    term = stage.keys.get(atom.path[0])
    apart = atom.path[0].startswith("#key or missing")
    if term is None or atom.operator in ("$type", "opaque") or (atom.operator == "$exists" and not apart):
        return None
    path = subject_of(term, atom.path[1:])
    key = atom.key.replace(".".join(atom.path), ".".join(path), 1)
    return Literal(Atom(path, atom.operator, atom.argument, key), part.positive)


def _renamed(value: object, variables: Mapping[str, str]) -> object:
    if isinstance(value, str) and value.startswith("$$"):
        name, dot, rest = value[2:].partition(".")
        return f"$${variables[name]}{dot}{rest}" if name in variables else value
    if isinstance(value, list):
        return [_renamed(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, variables) for key, item in value.items()}
    return value


def document_of(key: str, value: object) -> Document:
    """The document that a stage takes.

    Raises:
        ReadError: it is none.
    """
    if not isinstance(value, dict):
        raise ReadError("unparseable", f"{key} takes a document, not {value!r:.60}")
    return value


def plan_of(query: MongoQuery, fields: Mapping[str, Field] | None = None) -> Plan:
    """Bring a query to normal form.

    Raises:
        ReadError: MongoDB would refuse a part of it.
    """
    planner = Planner(fields or {}, Trace())
    planner.trace.used |= query.notations
    if query.operation == "aggregate":
        for stage in query.pipeline:
            planner.add(stage)
        return planner.plan()
    planner.trace.note("find_as_pipeline")
    planner.match(query.filter)
    if query.operation == "distinct":
        return planner.plan(f"distinct {query.field}")
    planner.sort(query.sort)
    if query.skip:
        planner.window("$skip", query.skip)
    if query.limit:
        planner.window("$limit", query.limit)
    if query.operation == "count":
        planner.group({"_id": None, "count": {"$sum": 1}})
        return planner.plan("count")
    if query.projection is not None:
        _project_find(planner, query.projection)
    return planner.plan()


def _project_find(planner: Planner, projection: Document) -> None:
    """The projection of a find, which has operators of its own."""
    special = any(
        key.endswith(".$") or (isinstance(value, dict) and next(iter(value), "") in ("$slice", "$elemMatch", "$meta"))
        for key, value in projection.items()
    )
    if special:
        shown = ", ".join(sorted(f"{key}: {text(value)}" for key, value in projection.items()))
        planner.stages.append(Stage("opaque", f"find projection {shown}", reads=frozenset({""})))
        planner.shape = Shape()
    else:
        planner.add({"$project": projection})
