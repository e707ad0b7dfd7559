"""Returns results of a called program as data. The program can change this module, which only harms itself."""

import builtins
import json

from paddock_plain_data import encode

PART_CHARACTERS = 64 * 1024
"""Length of the parts in which a long answer is sent, as the host limits the length of one value."""

_dumps = json.dumps
_parts = []


class Answer:
    """A value whose repr is the text, since the host receives the repr of a block's last expression."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def answer_of(text):
    """Returns an answer. A long one is kept, and requested part by part."""
    if len(text) <= PART_CHARACTERS:
        return Answer(text)
    _parts[:] = [text[start : start + PART_CHARACTERS] for start in range(0, len(text), PART_CHARACTERS)]
    return Answer(f'{{"parts": {len(_parts)}}}')


def part(index):
    """Returns a part of the last long answer."""
    return Answer(_parts[index])


def answer(function):
    """Calls a function. Returns its result as plain data, or the exception that it raised."""
    try:
        return answer_of(f'{{"value": {encode(function())}}}')
    except Exception as error:
        kind = type(error)
        names = (base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)
        return Answer(_dumps({"raised": kind.__name__, "base": next(names), "message": str(error)[:1000]}))
