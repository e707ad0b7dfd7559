"""Blocks of the pages of ``docs``, so that the checks run what the pages say."""

from __future__ import annotations

import os
import re
from pathlib import Path


def block(heading: str, language: str, contains: str = "", page: str = "trainers") -> str:
    """Returns the only block of a section in a language that contains a text, with the address of the server."""
    text = (Path(os.environ["PADDOCK_ROOT"]) / "docs" / f"{page}.md").read_text()
    section = re.split(rf"^#+ {re.escape(heading)}\n", text, flags=re.MULTILINE)[1]
    hidden = re.sub(r"^(`{3,}\w*\n.*?^`{3,}$)", _hide, section, flags=re.MULTILINE | re.DOTALL)
    section = re.split(r"^#+ ", hidden, flags=re.MULTILINE)[0].replace("\0", "#")
    blocks = re.findall(rf"^(`{{3,}}){language}\n(.*?)^\1$", section, flags=re.MULTILINE | re.DOTALL)
    [found] = [text for _, text in blocks if contains in text]
    return found.replace("http://127.0.0.1:8471", os.environ["PADDOCK_URL"])


def _hide(fenced: re.Match[str]) -> str:
    return fenced[1].replace("#", "\0")
