"""Returns results of a called program as data. The program can change this module, which only harms itself."""

import builtins
import json

from paddock_plain_data import encode

_dumps = json.dumps


class Answer:
    """A value whose repr is the text, since the host receives the repr of a block's last expression."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def answer(function):
    """Calls a function. Returns its result as plain data, or the exception that it raised."""
    try:
        return Answer(f'{{"value": {encode(function())}}}')
    except Exception as error:
        kind = type(error)
        names = (base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base)
        return Answer(_dumps({"raised": kind.__name__, "base": next(names), "message": str(error)[:1000]}))
