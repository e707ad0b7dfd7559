"""Renders chats with native calls as transformers does: reads rows of JSON lists, writes a list of texts or nulls.

A row has the source of a template, a chat with `arguments` as text, and whether a generation prompt is asked for. The
arguments are given as an object first, and as text if the template raises an error or does not show them; an empty
content is given as in the chat first, and then as null or "".
"""

import copy
import json
import sys

from transformers.utils.chat_template_utils import render_jinja_template


def render(row: dict, form: str, content: str | None) -> str | None:
    chat = copy.deepcopy(row["chat"])
    for message in chat:
        for call in message.get("tool_calls") or []:
            if form == "object":
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if message.get("tool_calls") and not message["content"]:
            message["content"] = content
    try:
        texts, _ = render_jinja_template(
            conversations=[chat],
            chat_template=row["source"],
            add_generation_prompt=row["prompt"],
            bos_token="<|bos|>",
            eos_token="<|endoftext|>",
        )
    except Exception:  # a template may raise any exception, and so refuses the chat
        return None
    return texts[0]


def expected(row: dict) -> str | None:
    given = next(message for message in row["chat"] if message.get("tool_calls"))["content"]
    contents = [given] if given else [given, None if given == "" else ""]
    for form in ("object", "text"):
        for content in contents:
            text = render(row, form, content)
            if text is not None and all(shown in text for shown in row["shown"]):
                return text
    return None


json.dump([expected(row) for row in json.load(sys.stdin)], sys.stdout)
