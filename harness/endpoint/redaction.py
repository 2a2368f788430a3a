"""The one place where secrets are taken out of text: logs, journal, reports, tapes and error messages all pass here."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
# Placeholders that local servers are given as a key; masking them would mangle ordinary words.
_PLACEHOLDERS = frozenset(
    {"empty", "none", "null", "ollama", "local", "dummy", "no-key", "not-needed", "lm-studio", "test"}
)
_SHORTEST = 6

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # A password in a URL, up to the last @ before the host ends.
    (
        re.compile(r"(?P<head>\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s/:@'\"<>]{0,200}:)[^\s/'\"<>]{1,500}@"),
        rf"\g<head>{MASK}@",
    ),
    # Credentials after their scheme.
    (
        re.compile(r"(?i)\b(?P<head>bearer|basic)(?P<gap>\s+)(?=[^\s\"']{0,200}[0-9=_])[A-Za-z0-9._~+/=-]{8,}"),
        rf"\g<head>\g<gap>{MASK}",
    ),
    # `api_key=…`, `"x-api-key": "…"`, `?key=…`, `access_token: …`, `password=…`
    (
        re.compile(
            r"(?i)(?P<head>[\"']?\b(?:x-)?(?:api[-_]?key|access[-_]?token|auth[-_]?token|secret[-_]?key|client[-_]?secret|password|passwd|pwd)"
            r"\b[\"']?\s{0,4}[=:]\s{0,4}[\"']?)(?P<body>[^\s\"'&,;}\[]{6,})"
        ),
        rf"\g<head>{MASK}",
    ),
    (re.compile(r"(?P<head>[?&](?:key|token|sig|signature|auth)=)[^\s\"'&#]{6,}"), rf"\g<head>{MASK}"),
    # Keys that say what they are.
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|pplx|r8)[-_][A-Za-z0-9_-]{16,}"), MASK),
    (re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"), MASK),
)
_HINT = re.compile(
    r"(?i)://|bearer|basic|api[-_]?key|token|secret|passw|pwd|[?&](?:key|sig|auth)|(?:sk|pk|rk|gsk|xai|hf|ghp|pplx|r8)[-_]|AIza"
)


class Redactor:
    """Masks the key values in use, passwords in URLs, and what looks like a credential.

    Args:
        secrets: the key values in use, in the clear. Each is masked also as it stands in JSON, in a URL and in Base64.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {
            spelling
            for secret in secrets
            if len(secret.strip()) >= _SHORTEST and secret.strip().lower() not in _PLACEHOLDERS
            for spelling in _spellings(secret.strip())
        }
        # The longest first, so that no spelling leaves the rest of a longer one behind.
        ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __repr__(self) -> str:
        return "Redactor()"

    def clean(self, text: str) -> str:
        """The text without secrets. Text that holds none comes back as it is."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        if _HINT.search(text):
            for pattern, mask in _PATTERNS:
                text = pattern.sub(mask, text)
        return text

    def known_only(self, text: str) -> str:
        """The text without the key values in use; nothing is masked by its looks.

        For model output: a query such as `WHERE token = 'abcdefgh'` must be graded as it is.
        """
        return self._known.sub(MASK, text) if self._known is not None else text


def _spellings(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    encoded = base64.b64encode(raw).decode()
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(raw, safe=""),
        quote_plus(raw, safe=""),
        encoded,
        encoded.rstrip("="),
    }
