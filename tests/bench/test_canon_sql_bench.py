"""How fast SQL pairs are decided, beside evaldata's AstEquivalence in the same run; and the long property run.

python -m tests.bench.bench_canon_sql                       pairs per second, medians
RUNG_SQL_PROPERTY_QUERIES=20000 pytest tests/properties/test_sql_normal_form_property.py
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import sqlglot

from canon.sql import compare_sql, read_schema

DDL = """
CREATE TABLE singer (singer_id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INTEGER);
CREATE TABLE concert (concert_id INTEGER PRIMARY KEY, name TEXT,
  stadium_id INTEGER REFERENCES stadium (stadium_id), year INTEGER);
CREATE TABLE stadium (stadium_id INTEGER PRIMARY KEY, location TEXT, name TEXT, capacity INTEGER);
CREATE TABLE singer_in_concert (concert_id INTEGER NOT NULL REFERENCES concert (concert_id),
  singer_id INTEGER NOT NULL REFERENCES singer (singer_id), PRIMARY KEY (concert_id, singer_id));
"""

PAIRS = [
    ("SELECT count(*) FROM singer", "SELECT COUNT(singer.singer_id) FROM singer"),
    (
        "SELECT name, age FROM singer ORDER BY age DESC",
        "select singer.name, singer.age from singer order by singer.age desc",
    ),
    ('SELECT name FROM singer WHERE country = "France"', "SELECT s.name FROM singer AS s WHERE s.country = 'France'"),
    (
        "SELECT T2.name, count(*) FROM concert AS T1 JOIN stadium AS T2 "
        "ON T1.stadium_id = T2.stadium_id GROUP BY T1.stadium_id",
        "SELECT s.name, COUNT(c.concert_id) FROM stadium s JOIN concert c "
        "ON s.stadium_id = c.stadium_id GROUP BY s.stadium_id, s.name",
    ),
    (
        "SELECT name FROM stadium WHERE stadium_id NOT IN (SELECT stadium_id FROM concert)",
        "SELECT stadium.name FROM stadium WHERE stadium.stadium_id NOT IN (SELECT concert.stadium_id FROM concert)",
    ),
    (
        "SELECT T1.name FROM singer AS T1 JOIN singer_in_concert AS T2 "
        "ON T1.singer_id = T2.singer_id GROUP BY T1.singer_id HAVING count(*) > 1",
        "SELECT name FROM singer WHERE singer_id IN "
        "(SELECT singer_id FROM singer_in_concert GROUP BY singer_id HAVING COUNT(*) >= 2)",
    ),
    ("SELECT avg(capacity) FROM stadium", "SELECT max(capacity) FROM stadium"),
    ("SELECT location FROM stadium WHERE capacity > 5000", "SELECT name FROM stadium WHERE capacity > 5000"),
    (
        "SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer)",
        "SELECT s.name FROM singer s WHERE s.age > (SELECT AVG(singer.age) FROM singer)",
    ),
    (
        "SELECT name FROM stadium EXCEPT SELECT T2.name FROM concert T1 "
        "JOIN stadium T2 ON T1.stadium_id = T2.stadium_id WHERE T1.year = 2014",
        "SELECT name FROM stadium EXCEPT SELECT s.name FROM stadium s "
        "JOIN concert c ON c.stadium_id = s.stadium_id WHERE c.year = '2014'",
    ),
]

FILTERS = [
    ("age > 3 AND country = 'a'", "NOT (age <= 3) AND country = 'a'"),
    ("age BETWEEN 1 AND 5 OR age = 7", "(age >= 1 AND age < 6) OR age = 7"),
    ("age IN (1, 2, 3)", "age = 1 OR age = 2"),
    ("age IS NULL OR age > 4", "NOT age <= 4"),
    ("(age = 1 OR name = 'x') AND (age = 1 OR country = 'y')", "age = 1 OR (name = 'x' AND country = 'y')"),
]


def per_second(decide: Callable[[str, str], object], rounds: int) -> float:
    """How many of the pairs are decided in a second of processor time."""
    for first, second in PAIRS:
        decide(first, second)
    start = time.process_time()
    for _ in range(rounds):
        for first, second in PAIRS:
            decide(first, second)
    return rounds * len(PAIRS) / (time.process_time() - start)


def ast_equivalence_of_evaldata() -> Callable[[str, str], str]:
    """Its judgement of two texts, which the framework asks for only around an executed case (evaldata 0.9.0).

    Of the case it reads the golden query, of the context the answer and the dialect; nothing is executed.
    """
    types, scorers = import_module("evaldata.types"), import_module("evaldata.scorers.semantic_equivalence")
    judge = scorers.AstEquivalence()

    def decide(golden: str, answer: str) -> str:
        case = types.EvalCase.model_construct(expected=types.GoldQuery(sql=golden))
        queries = SimpleNamespace(dialect="sqlite", model_sql=types.Sql(answer))
        return judge.judge(case, None, None, context=SimpleNamespace(queries=queries)).equivalence

    return decide


def test_pairs_per_second_beside_the_parser_and_evaldata():
    """Deciding costs a small multiple of parsing alone; evaldata's figure stands beside it where it is installed."""
    schema = read_schema(DDL, "sqlite")

    def ours(first: str, second: str) -> object:
        return compare_sql(first, second, dialect="sqlite", schema=schema)

    def parsing(first: str, second: str) -> object:
        return sqlglot.parse(first, dialect="sqlite"), sqlglot.parse(second, dialect="sqlite")

    relations = [compare_sql(a, b, dialect="sqlite", schema=schema).relation for a, b in PAIRS]
    assert relations.count("equivalent") == 8
    figures = {"canon pairs/s": round(per_second(ours, 40)), "parser pairs/s": round(per_second(parsing, 40))}
    if find_spec("evaldata") is not None:
        theirs = ast_equivalence_of_evaldata()
        figures["evaldata pairs/s"] = round(per_second(theirs, 10))
        figures["canon joined"] = relations.count("equivalent")
        figures["evaldata joined"] = sum(theirs(a, b) == "equivalent" for a, b in PAIRS)
    sys.stdout.write(json.dumps(figures) + "\n")
    assert figures["parser pairs/s"] / figures["canon pairs/s"] < 15


def test_filters_are_decided_in_milliseconds():
    schema = read_schema(DDL, "sqlite")
    times: list[float] = []
    for first, second in FILTERS * 20:
        queries = [f"SELECT name FROM singer WHERE {condition}" for condition in (first, second)]
        start = time.perf_counter()
        verdict = compare_sql(*queries, dialect="sqlite", schema=schema)
        times.append((time.perf_counter() - start) * 1000)
        assert verdict.relation != "undecided"
    sys.stdout.write(json.dumps({"filter median ms": round(statistics.median(times), 2)}) + "\n")


def test_twenty_thousand_random_queries_keep_their_meaning():
    """The property test of the suite, forty times as long and from another seed."""
    environment = {**os.environ, "RUNG_SQL_PROPERTY_QUERIES": "20000", "RUNG_SQL_PROPERTY_SEED": "7"}
    file = Path(__file__).parents[1] / "properties" / "test_sql_normal_form_property.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--timeout=3000", str(file)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
