"""The identities that the normal form of filters and pipelines uses: what `absorbed` reports, each with its law."""

from typing import NamedTuple


class Identity(NamedTuple):
    """A law under which two spellings are one query.

    Attributes:
        name: what `absorbed` reports.
        law: the law in one line.
        condition: when it is sound; "always" where nothing needs to be known of the data.
    """

    name: str
    law: str
    condition: str = "always"


IDENTITIES: tuple[Identity, ...] = (
    # notation
    Identity("shell_text", "mongosh, Node or PyMongo text  =  the Extended JSON of the same values"),
    Identity("clock_folding", "new Date(), Date.now(), $$NOW and arithmetic on them  =  the instant", "a pinned clock"),
    Identity(
        "number_spelling",
        "500  =  500.0  =  NumberLong(500)  =  NumberDecimal('500')",
        "compared by value, not by $type",
    ),
    Identity("date_text", "'2026-07-05'  =  ISODate('2026-07-05')", "the path is declared a date"),
    Identity("sort_spelling", "[{field: f, order: 1}]  =  {f: 1}"),
    Identity("limit_forms", "limit(0)  =  no limit; limit(-n)  =  limit(n)"),
    Identity("comment_dropped", "{$comment: …, c}  =  c"),
    # boolean structure
    Identity("implicit_and", "{a: p, b: q}  =  {$and: [{a: p}, {b: q}]};  {a: {p, q}}  =  {$and: [{a: p}, {a: q}]}"),
    Identity("clause_order", "the order and nesting of $and, $or and members do not matter"),
    Identity("duplicate_clause", "p AND p  =  p;  p OR p  =  p"),
    Identity("absorption", "p AND (p OR q)  =  p;  p OR (p AND q)  =  p"),
    Identity(
        "complement", "p AND NOT p  =  nothing;  p OR NOT p  =  everything", "two-valued, as all of the match language"
    ),
    Identity("de_morgan", "NOT (p AND q)  =  NOT p OR NOT q"),
    Identity("double_negation", "NOT NOT p  =  p"),
    Identity("constant", "{}  =  {$alwaysTrue: 1}  =  {a: {$nin: []}};  {a: {$in: []}}  =  {$alwaysFalse: 1}"),
    # operators
    Identity("explicit_equality", "{a: {$eq: v}}  =  {a: v}", "v is no regular expression"),
    Identity("membership", "{a: {$in: [v, w]}}  =  {a: v} OR {a: w}"),
    Identity("exclusion", "$ne, $nin, $nor and $not  =  NOT of the positive form"),
    Identity("all_members", "{a: {$all: [v, w]}}  =  {a: v} AND {a: w}"),
    Identity("all_of_element_match", "{a: {$all: [{$elemMatch: c}]}}  =  {a: {$elemMatch: c}}"),
    Identity("greater_or_equal", "{a: {$gt: v}} OR {a: v}  =  {a: {$gte: v}};  the same with $lt"),
    Identity("null_bound", "{a: {$gte: null}}  =  {a: {$lte: null}}  =  {a: null};  {a: {$gt: null}}  =  nothing"),
    Identity("regex_notation", "{a: /x/i}  =  {a: {$regex: 'x', $options: 'i'}}  =  {a: {$in: [/x/i]}}"),
    Identity(
        "exists_truth", "{$exists: 1}  =  {$exists: true};  {$exists: 0}  =  {$exists: false}  =  NOT {$exists: true}"
    ),
    Identity("type_spelling", "{$type: 2}  =  {$type: 'string'};  'number'  =  the four numeric types"),
    Identity("element_match_of_or", "{$elemMatch: {$or: [p, q]}}  =  {$elemMatch: p} OR {$elemMatch: q}"),
    Identity(
        "expression_mirror",
        "{$expr: {$gt: [x, y]}}  =  {$expr: {$lt: [y, x]}};  $gte  =  NOT $lt",
        "the BSON order is total",
    ),
    Identity("expression_logic", "{$expr: {$and: [p, q]}}  =  {$expr: p} AND {$expr: q};  the same with $or and $not"),
    # pipelines
    Identity("find_as_pipeline", "find(f, p).sort(s).skip(n).limit(m)  =  $match, $sort, $skip, $limit, $project"),
    Identity(
        "count_as_group",
        "countDocuments(f)  =  $match, $count;  $count  =  $group {_id: null, n: {$sum: 1}}, $project {_id: 0}",
    ),
    Identity(
        "match_placement", "$match commutes with $sort, $project, $addFields, $lookup and $unwind of other fields"
    ),
    Identity(
        "match_below_group", "$match on a group's key  =  $match before $group", "null and missing are not told apart"
    ),
    Identity(
        "projection_placement",
        "$project and $addFields commute with $match, $sort, $skip, $limit, $unwind of the same field",
    ),
    Identity("projection_merging", "$project after $project, $group or $addFields  =  one projection"),
    Identity(
        "field_renaming", "a name given to a value within the pipeline does not matter, the names in the result do"
    ),
    Identity(
        "stage_spelling", "$addFields  =  $set;  $unset  =  $project {f: 0};  $unwind: '$a'  =  $unwind: {path: '$a'}"
    ),
    Identity("sort_by_count", "$sortByCount: e  =  $group {_id: e, count: {$sum: 1}}, $sort {count: -1}"),
    Identity("window_merging", "$limit n, $limit m  =  $limit min(n, m);  $skip n, $skip m  =  $skip n + m"),
    Identity(
        "lost_sort",
        "a $sort before a $group without order-sensitive accumulators, or before another $sort, does nothing",
    ),
    Identity("unused_lookup", "a $lookup whose result nothing reads does nothing", "the result does not show it"),
    Identity(
        "expression_forms",
        "{$add: [x, y]}  =  {$add: [y, x]};  {$sum: [e]}  =  {$sum: e};  $cond as list or as document",
    ),
)

NAMES = frozenset(identity.name for identity in IDENTITIES)


class Trace:
    """Which identities one side has used, and its conditions in the order in which they were written."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.sequence: list[str] = []

    def note(self, name: str) -> None:
        """Record that an identity has been used."""
        assert name in NAMES, name
        self.used.add(name)
