"""The `prompt` target: the model writes the query itself, from a vocabulary config or a schema (DDL)."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from harness.corpus.configs import Config, load_config
from harness.endpoint.chat import Chat, Chatter, Completed, Origin
from harness.errors import TargetError
from harness.targets.prompt_text import PROMPT_VERSION, prompt_digest, write_prompt
from harness.targets.replies import read_reply
from harness.types.answers import Call, Reply
from harness.types.cases import Case


class PromptTarget:
    """Asks the model for the query.

    Args:
        chatter: what completes conversations; closed by its owner.
        endpoint_facts: what of the endpoint determines answers.
        words_refuse: words without any query are a refusal.
    """

    name = "prompt"

    def __init__(self, chatter: Chatter, *, endpoint_facts: Mapping[str, JsonValue], words_refuse: bool = True) -> None:
        self._chatter = chatter
        self._endpoint_facts = dict(endpoint_facts)
        self._words_refuse = words_refuse
        self._configs: dict[Path, Config] = {}
        self._prompt = {"version": PROMPT_VERSION, "digest": prompt_digest()}

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """Endpoint, prompt, and a digest of the config."""
        return {
            "endpoint": self._endpoint_facts,
            "prompt": dict(self._prompt),
            "config": self._config(case).digest,
            **({} if self._words_refuse else {"words_refuse": False}),
        }

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Ask the model once."""
        messages = write_prompt(case, self._config(case), now)
        chat = await self._chatter.complete(messages, Origin(case_id=case.id, repeat=repeat))
        return _reply(chat, case, words_refuse=self._words_refuse)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _config(self, case: Case) -> Config:
        if case.config is None:
            raise TargetError(
                f"case {case.id} names no config; give a vocabulary (JSON) or a schema (.sql) by --config"
            )
        if case.config not in self._configs:
            self._configs[case.config] = load_config(case.config)
        return self._configs[case.config]


def _reply(chat: Chat, case: Case, *, words_refuse: bool) -> Reply:
    spent = (
        Call(latency_ms=chat.latency_ms, tries=chat.tries, usage=chat.usage, finish=chat.finish) if chat.tries else None
    )
    read = read_reply(chat, case.backend, words_refuse=words_refuse)
    return Reply(
        answer=read.answer,
        raw=_words(chat),
        cut=read.cut,
        calls=(spent,) if spent is not None else (),
        notices=chat.notices if isinstance(chat, Completed) else (),
    )


def _words(chat: Chat) -> str:
    """What the model said: its text, else its refusal, else what it gave a tool."""
    if not isinstance(chat, Completed):
        return chat.partial
    return chat.content or chat.refusal or chat.tool_arguments or ""
