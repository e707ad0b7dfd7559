"""A few of the things that must hold. `python check.py` tells which do."""

import spans

CASES = [
    (spans.merge, ([[5, 6], [1, 2]],), [[1, 2], [5, 6]]),
    (spans.merge, ([[1, 3], [4, 6]],), [[1, 6]]),
    (spans.gaps, ([[1, 3], [7, 9]],), [[4, 6]]),
    (spans.total, ([[1, 3]],), 3),
    (spans.parse, ("1-3, 7",), [[1, 3], [7, 7]]),
    (spans.show, ([[1, 3], [7, 7]],), "1-3, 7"),
]

for function, arguments, expected in CASES:
    try:
        result = function(*arguments)
    except Exception as error:
        result = error
    verdict = "ok" if result == expected else f"must be {expected!r}: it is {result!r}"
    print(f"{function.__name__}{arguments}: {verdict}")
