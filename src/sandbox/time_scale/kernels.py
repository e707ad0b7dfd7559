"""Four programs as models write them. Prints their times in seconds as JSON."""

import json
import time


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def collatz():
    longest = 0
    for start in range(1, 2500):
        n, steps = start, 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            steps += 1
        longest = max(longest, steps)
    return longest


def count_words():
    counts = {}
    for i in range(60_000):
        word = "w" + str(i * 7919 % 997)
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def edit_distance():
    first, second = "intention" * 18, "execution" * 18
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


times = []
for program in (lambda: fibonacci(25), collatz, count_words, edit_distance):
    started = time.perf_counter()
    program()
    times.append(time.perf_counter() - started)
print(json.dumps(times))
