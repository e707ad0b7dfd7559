"""Configurations of verl, made of its own files and the options of ``docs/trainers.md``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import verl.trainer
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from recipes import block
from tiny_model import tiny_model, tiny_tokenizer

CHAT_TEMPLATE = """
{%- if tools %}<|im_start|>system
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "tool" %}<tool_response>
{{ message.content }}
</tool_response>{% else %}{{ message.content }}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}""".strip()


def save_model(folder: Path) -> str:
    """Saves a random tiny model and its tokenizer."""
    tokenizer = tiny_tokenizer(CHAT_TEMPLATE)
    tokenizer.save_pretrained(folder)
    tiny_model(tokenizer).save_pretrained(folder)
    return str(folder)


_PRINTS_OPTIONS = 'python3() { if [ "$1" = -m ]; then shift 2; printf "%s\\n" "$@"; else command python3 "$@"; fi; }\n'


def recipe(contains: str) -> list[str]:
    """Returns the options of a command of the page, as a shell expands them."""
    script = _PRINTS_OPTIONS + block("verl", "sh", contains)
    return subprocess.run(["sh", "-euc", script], check=True, capture_output=True, text=True).stdout.splitlines()


def configuration(model: str, options: list[str]) -> DictConfig:
    """Returns the whole configuration of ``main_ppo`` with some options."""
    folder = Path(verl.trainer.__file__).parent / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", [f"actor_rollout_ref.model.path={model}", *options])
