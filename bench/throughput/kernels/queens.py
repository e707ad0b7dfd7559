def place(n, row, cols, up, down):
    if row == n: return 1
    return sum(place(n, row + 1, cols | {c}, up | {row + c}, down | {row - c}) for c in range(n) if c not in cols and row + c not in up and row - c not in down)
place(7, 0, frozenset(), frozenset(), frozenset())
