"""Which endpoint is asked, for which model, with what, and how patiently. Keys come from the environment alone."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from pydantic import Field, JsonValue, SecretStr

from harness.endpoint.chat import Message
from harness.endpoint.origins import is_loopback
from harness.endpoint.redaction import Redactor
from harness.errors import UsageError
from harness.types.frozen import Frozen

KEY_VARIABLES = ("RUNG_API_KEY", "OPENAI_API_KEY")
"""Environment variables that are looked up for a key after the one that is named."""

KEY_ON_COMMAND_LINE = (
    "a key on the command line is readable by every process of this machine and stays in the shell's history: "
    "put it into an environment variable and name that one with --api-key-env"
)


class EndpointSettings(Frozen):
    """An endpoint and how it is asked.

    Attributes:
        base_url: as far as `/v1`, without credentials and without query.
        query: the URL's query, sent with every request; may hold a key, so it is secret.
        user_info: `user:password` of the URL, sent as Basic authentication.
        model: the model's name.
        api_key: sent as a bearer token.
        temperature: 0 unless asked otherwise; `None` = not sent.
        seed: not sent unless given.
        max_tokens: not sent unless given.
        connect_timeout: seconds to connect.
        first_byte_timeout: seconds from the connection to the response's headers.
        timeout: seconds of one HTTP request from start to last byte; a request that times out is tried again.
        retries: further tries of a call that failed in transport; 0 = none.
        first_wait: seconds before the second try, where the endpoint names no time; doubles from try to try, with
        jitter.
        longest_wait: seconds; an endpoint that asks to wait longer is given up for this call.
        largest_reply: bytes of one response body.
    """

    base_url: str
    query: SecretStr = SecretStr("")
    user_info: SecretStr = SecretStr("")
    model: str
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    seed: int | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    connect_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    first_byte_timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    timeout: float = Field(default=180.0, gt=0, allow_inf_nan=False)
    retries: int = Field(default=4, ge=0)
    first_wait: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    longest_wait: float = Field(default=120.0, ge=0, allow_inf_nan=False)
    largest_reply: int = Field(default=16 * 2**20, ge=1)

    @classmethod
    def of(cls, base_url: str, model: str, **options: Any) -> Self:
        """Settings for a base URL as a user writes it: credentials and query are taken out of it and kept apart.

        Args:
            base_url: `https://host/v1`, `http://user:password@host:8000/v1`, `https://host/openai?api-version=1`; an
            end
                in `/chat/completions` is borne.
            model: the model's name.
            options: the other fields.

        Raises:
            UsageError: the URL is none that can be asked.
        """
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError as error:
            raise UsageError(f"the endpoint is no URL: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("the endpoint should look like https://host/v1 or http://127.0.0.1:8000/v1")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        user_info = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if "@" in parts.netloc else ""
        return cls(
            base_url=f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}",
            query=SecretStr(parts.query),
            user_info=SecretStr(user_info),
            model=model,
            **options,
        )

    @property
    def host(self) -> str:
        """The host's name."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return is_loopback(self.host)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret in use, in the clear, for the `Redactor`."""
        found = [self.api_key.get_secret_value()] if self.api_key is not None else []
        _, _, password = self.user_info.get_secret_value().partition(":")
        found.append(password)
        for pair in self.query.get_secret_value().split("&"):
            name, _, value = pair.partition("=")
            if name.lower() not in ("api-version", "version"):
                found.append(unquote(value))
        return tuple(secret for secret in found if secret)

    def redactor(self) -> Redactor:
        """A redactor that knows this endpoint's secrets."""
        return Redactor(self.secrets)

    def body(self, messages: Sequence[Message]) -> dict[str, JsonValue]:
        """The chat-completions request: nothing in it that was not asked for."""
        body: dict[str, JsonValue] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        for name in ("temperature", "seed", "max_tokens"):
            if (value := getattr(self, name)) is not None:
                body[name] = value
        return body

    def facts(self) -> dict[str, JsonValue]:
        """What of this determines answers: for `Target.facts`. Holds no secret and nothing of patience."""
        facts: dict[str, JsonValue] = {"base_url": self.base_url, "model": self.model}
        for name in ("temperature", "seed", "max_tokens"):
            facts[name] = getattr(self, name)
        return facts


def read_api_key(
    named: str | None = None, config_variable: str | None = None, environ: Mapping[str, str] | None = None
) -> SecretStr | None:
    """The key, from the environment.

    Args:
        named: the variable that `--api-key-env` names.
        config_variable: the config's `apiKeyEnv`.
        environ: the environment; the process's own if not given.

    Returns:
        The value of the first variable that is set of `named`, `config_variable`, `RUNG_API_KEY`, `OPENAI_API_KEY`;
        `None` where none is (local servers want no key).

    Raises:
        UsageError: `named` is not set, or looks like a key itself.
    """
    environ = os.environ if environ is None else environ
    if named is not None:
        if not named.replace("_", "a").isidentifier() or named.lower().startswith("sk_"):
            raise UsageError(f"--api-key-env wants the name of an environment variable: {KEY_ON_COMMAND_LINE}")
        value = environ.get(named, "").strip()
        if not value:
            raise UsageError(f"--api-key-env {named}: the environment variable {named} is not set")
        return SecretStr(value)
    for variable in (config_variable, *KEY_VARIABLES):
        if variable and (value := environ.get(variable, "").strip()):
            return SecretStr(value)
    return None


def refuse_key_argument(value: str | None) -> str | None:
    """Typer callback of the hidden option `--api-key`.

    Raises:
        UsageError: it was given.
    """
    if value is not None:
        raise UsageError(f"--api-key is refused: {KEY_ON_COMMAND_LINE}")
    return None
