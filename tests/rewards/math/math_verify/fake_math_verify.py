"""A stand-in for math-verify that compares texts, and does what a hostile answer can make the library do."""

import os


def parse(text, parsing_timeout=5):
    assert parsing_timeout is None
    word = text.removeprefix(r"\boxed{").removesuffix("}")
    if word == "endless":
        while True:
            pass
    if word == "stubborn":
        for _ in range(3):
            try:
                while True:
                    pass
            except:  # as some code of mpmath does
                pass
    if word == "in C":
        return [9 ** 9 ** 9]
    if word == "memory":
        try:
            return [bytes(2**30)]
        except Exception:  # as math-verify does
            return [text]
    if word == "exit":
        os._exit(3)
    if word == "print":
        print("equal")
    return [] if word == "?" else [word]


def verify(gold, given, timeout_seconds=5):
    assert timeout_seconds is None
    return gold == given or given == [r"\boxed{memory}"]
