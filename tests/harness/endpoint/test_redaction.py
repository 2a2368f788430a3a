"""Secrets leave no text, and ordinary text is left alone."""

import base64
import json
from urllib.parse import quote

import pytest

from harness.endpoint.redaction import MASK, Redactor

KEY = "canary/Key+0123456789=é"


@pytest.mark.parametrize(
    "spelled",
    [KEY, json.dumps(KEY)[1:-1], quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()],
)
def test_known_key_is_masked_in_every_spelling(spelled):
    assert Redactor([KEY]).clean(f"before {spelled} after") == f"before {MASK} after"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("postgres://me:s3cr3t@host/db", f"postgres://me:{MASK}@host/db"),
        ("http://user:p@ss@host:80/v1", f"http://user:{MASK}@host:80/v1"),
        ("Authorization: Bearer abcdefghijk1", f"Authorization: Bearer {MASK}"),
        ('{"api_key": "abcdefghijk"}', f'{{"api_key": "{MASK}"}}'),
        ("https://h/v1?key=abcdefghijk&x=1", f"https://h/v1?key={MASK}&x=1"),
        ("x-api-key: abcdefghijk", f"x-api-key: {MASK}"),
        ("Incorrect API key provided: sk-proj-abcdefghijklmnop1234", f"Incorrect API key provided: {MASK}"),
        ("AIzaSyA0123456789abcdefghijk", MASK),
        ("password=hunter22", f"password={MASK}"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, cleaned):
    assert Redactor().clean(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "SELECT token FROM t WHERE key = 'abcdefghijk'",
        "http://127.0.0.1:8000/v1",
        "max_tokens is not accepted",
        "the bearer of bad news",
        "a basic understanding of bearer certificates",
        "task-list and desk-top",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert Redactor(["EMPTY", "none", "abc"]).clean(text) == text


def test_model_output_loses_known_keys_only():
    query = "SELECT * FROM t WHERE password = 'abcdefghijk'"
    assert Redactor([KEY]).known_only(query) == query
    assert Redactor([KEY]).known_only(f"SELECT '{KEY}'") == f"SELECT '{MASK}'"


def test_its_repr_tells_nothing():
    assert repr(Redactor([KEY])) == "Redactor()"
