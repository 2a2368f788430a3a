"""Vocabulary configs: what is read, what is kept for the engine, what is refused and how it is said."""

import json
from pathlib import Path

import pytest

from canon.mongo.fields import Field as MongoField
from canon.schema import Column, Schema, Table
from harness.corpus.configs import DdlConfig, load_config
from harness.corpus.vocabulary import read_vocabulary
from harness.errors import VocabularyError

PATH = Path("shop.json")
FIELDS = [
    {"name": "status", "type": "enum", "values": ["open", "Done"], "valueCase": "upper"},
    {"name": "createdAt", "type": "date", "mapping": {"sql": "created_at", "mongo": "meta.created"}},
    {"name": "total", "type": "number", "sortable": False, "validators": {"min": 0, "max": 10}},
    {"name": "labels", "type": "array", "itemType": "string", "mapping": {"mysql": "label_list"}},
    {"name": "sku", "type": "string", "mapping": {"mongo": "items.sku"}, "elemMatch": "items"},
    {"name": "note", "type": "string", "queryable": False, "returnable": False},
]
CONFIG = {"entity": "Order", "backends": {"sql": {"table": "orders"}, "mongo": {"collection": "o"}}, "fields": FIELDS}


def read(**changes):
    return read_vocabulary(json.dumps(CONFIG | changes), path=PATH)


def test_schema_of_a_sql_dialect():
    names = ("status", "created_at", "total", "labels", "sku", "note")
    columns = (
        Column(name="status", type="text", values=("OPEN", "DONE")),
        Column(name="created_at", type="timestamp"),
        Column(name="total", type="real"),
        Column(name="labels", type="array", item="text"),
        Column(name="sku", type="text"),
        Column(name="note", type="text"),
    )
    assert read().schema("postgres") == Schema(tables=(Table(name="orders", columns=columns),))
    assert [column.name for column in read().schema("duckdb").tables[0].columns] == list(names)
    mysql = read().schema("mysql").tables[0]
    assert (mysql.name, mysql.columns[1].name, mysql.columns[3].name) == ("orders", "created_at", "label_list")


def test_fields_of_mongo_documents():
    assert read().mongo_fields() == {
        "status": MongoField(type="enum", values=("OPEN", "DONE")),
        "meta.created": MongoField(type="date"),
        "total": MongoField(type="number"),
        "labels": MongoField(type="array", item="string"),
        "items": MongoField(type="array", item="object"),
        "items.sku": MongoField(type="array", item="string"),
        "note": MongoField(type="string"),
    }
    assert read().table_name("mongo") == "o"


def test_flags_have_the_engines_defaults():
    fields = {field.name: field for field in read().fields}
    assert [name for name, field in fields.items() if not field.is_sortable] == ["total", "labels"]
    assert [name for name, field in fields.items() if not (field.is_queryable or field.is_returnable)] == ["note"]


def test_unknown_keys_are_kept_and_named():
    changes = {"fields": [FIELDS[0] | {"colour": "red"}], "x": 1, "policy": {"y": 2}, "backends": {"sql": {"z": 3}}}
    vocabulary = read(**changes, model={"model": "m", "w": 4}, models=[{"model": "n", "v": 5}])
    assert set(vocabulary.unknown_keys) == {
        "x",
        "fields[0].colour",
        "policy.y",
        "backends.sql.z",
        "model.w",
        "models[0].v",
    }
    assert vocabulary.source["fields"][0]["colour"] == "red"


def test_the_key_is_named_by_the_first_block_that_names_one():
    assert read(model={"model": "m"}, models=[{"apiKeyEnv": "A_KEY"}, {"apiKeyEnv": "B_KEY"}]).api_key_env == "A_KEY"
    assert read().api_key_env is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"entity": ""}, ['entity: string should have at least 1 character, not ""']),
        ({"fields": []}, ["fields: must not be empty"]),
        ({"fields": [{"type": "date"}]}, ["fields[0].name: is required"]),
        (
            {"fields": [{"name": "a", "type": "text"}]},
            [
                "fields[0].type (a): input should be 'string', 'number', 'boolean', 'enum', 'date' or 'array',"
                ' not "text"'
            ],
        ),
        ({"fields": [FIELDS[2], FIELDS[2]]}, ["fields[1] (total): the name is used already by fields[0]"]),
        ({"fields": [{"name": "a", "type": "enum"}]}, ["fields[0] (a): an enum must list its `values`"]),
        (
            {"fields": [{"name": "a", "type": "date", "valueCase": "upper"}]},
            ["fields[0] (a): `valueCase` is for strings, enums and arrays of them, not for date"],
        ),
        (
            {"fields": [{"name": "a", "type": "enum", "values": ["x"], "caseInsensitive": True}]},
            ["fields[0] (a): `caseInsensitive` is for strings, not for enum"],
        ),
        (
            {"fields": [{"name": "a", "type": "string", "elemMatch": "items"}]},
            ["fields[0] (a): `elemMatch` names 'items', which the Mongo path 'a' is not inside"],
        ),
        (
            {"fields": [FIELDS[2] | {"sortable": "no"}], "version": "1"},
            [
                'version: input should be a valid integer, not "1"',
                'fields[0].sortable (total): input should be a valid boolean, not "no"',
            ],
        ),
    ],
)
def test_wrong_configs_are_named(changes, expected):
    with pytest.raises(VocabularyError) as caught:
        read(**changes)
    assert str(caught.value).splitlines() == [f"shop.json: {line}" for line in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "shop.json:1: not JSON: expecting value at character 1"),
        ("[]", "shop.json: a config is a JSON object, this is an array"),
        ('{"entity": "A", "entity": "B"}', "shop.json: the key 'entity' is written twice in one object"),
        (
            '{\n "entity": "A",\n}',
            "shop.json:3: not JSON: expecting property name enclosed in double quotes at line 3 column 1;"
            " is there a comma too many?",
        ),
        (
            "{“entity”: 1}",
            "shop.json:1: not JSON: expecting property name enclosed in double quotes at character 2;"
            ' it has typographic quotes (“ ”), JSON wants straight ones (")',
        ),
        ("[" * 100_000, "shop.json: nested too deeply"),
    ],
)
def test_text_that_is_no_config_is_named(text, expected):
    with pytest.raises(VocabularyError) as caught:
        read_vocabulary(text, path=PATH)
    assert str(caught.value) == expected


SECRET = "sk-very-secret"


@pytest.mark.parametrize(
    "model",
    [{"apiKeyEnv": SECRET}, {"apiKey": {"k": SECRET}}, {"model": 5, "apiKey": SECRET}, [SECRET], SECRET],
)
def test_no_message_repeats_a_secret(model):
    with pytest.raises(VocabularyError) as caught:
        read(model=model)
    assert SECRET not in str(caught.value)


def test_no_representation_shows_a_secret():
    vocabulary = read(model={"apiKey": SECRET, "aws": {"secretAccessKey": SECRET}})
    assert SECRET not in repr(vocabulary)
    assert vocabulary.model is not None
    assert vocabulary.model.api_key == SECRET


def test_configs_are_told_apart_by_their_suffix(tmp_path):
    ddl = tmp_path / "schema.sql"
    ddl.write_text("CREATE TABLE t (a INTEGER);")
    loaded = load_config(ddl)
    assert isinstance(loaded, DdlConfig)
    assert loaded.text == "CREATE TABLE t (a INTEGER);"
    vocabulary = tmp_path / "orders.config.json"
    vocabulary.write_text(json.dumps(CONFIG))
    assert load_config(vocabulary).entity == "Order"  # type: ignore[union-attr]
    bad = tmp_path / "latin.json"
    bad.write_bytes('{\n"entity": "Café"}'.encode("latin-1"))
    with pytest.raises(VocabularyError, match=r"latin.json:2: byte 0xE9 is not UTF-8; save the file as UTF-8"):
        load_config(bad)
