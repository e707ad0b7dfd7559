# --- longest common subsequence
def lcs(a, b):
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            dp[i][j] = dp[i - 1][j - 1] + 1 if x == y else max(dp[i - 1][j], dp[i][j - 1])
    return dp[-1][-1]

print(lcs("ACGTTGCA" * 20, "TGCATGCC" * 20))
# --- primes by a sieve
def primes(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
    return [i for i, prime in enumerate(is_prime) if prime]

print(len(primes(100_000)))
# --- word frequencies
from collections import Counter
text = "the cat sat on the mat and the dog lay by the door of the house " * 800
words = [word.strip(".,").lower() for word in text.split()]
for word, count in Counter(words).most_common(5):
    print(f"{word}: {count}")
# --- dijkstra
import heapq
def dijkstra(graph, source):
    distance = {source: 0}
    queue = [(0, source)]
    while queue:
        d, node = heapq.heappop(queue)
        if d > distance[node]:
            continue
        for neighbour, weight in graph[node]:
            new = d + weight
            if new < distance.get(neighbour, float("inf")):
                distance[neighbour] = new
                heapq.heappush(queue, (new, neighbour))
    return distance

graph = {i: [((i * 7 + k) % 2000, (i * k) % 13 + 1) for k in range(1, 6)] for i in range(2000)}
print(sum(dijkstra(graph, 0).values()))
# --- n queens
def solve(n):
    def place(row, columns, diagonals, others):
        if row == n:
            return 1
        count = 0
        for column in range(n):
            if column in columns or row - column in diagonals or row + column in others:
                continue
            count += place(row + 1, columns | {column}, diagonals | {row - column}, others | {row + column})
        return count
    return place(0, frozenset(), frozenset(), frozenset())

print(solve(7))
# --- matrix product
def multiply(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]

a = [[i * j % 10 for j in range(60)] for i in range(60)]
print(sum(map(sum, multiply(a, multiply(a, a)))))
# --- bank accounts
class InsufficientFunds(Exception):
    pass

class Account:
    def __init__(self, owner, balance=0):
        self.owner, self.balance, self.history = owner, balance, []

    def withdraw(self, amount):
        if amount > self.balance:
            raise InsufficientFunds(f"{self.owner} has {self.balance}")
        self.balance -= amount
        self.history.append(-amount)

    def deposit(self, amount):
        self.balance += amount
        self.history.append(amount)

accounts = [Account(f"user{i}", 100) for i in range(100)]
failed = 0
for step in range(40_000):
    account = accounts[step % 100]
    try:
        account.withdraw(step % 37) if step % 3 else account.deposit(step % 11)
    except InsufficientFunds:
        failed += 1
print(failed, sum(account.balance for account in accounts))
# --- tokenizer and calculator
import re
def evaluate(text):
    tokens = re.findall(r"\d+\.?\d*|[-+*/()]", text)
    position = 0
    def peek():
        return tokens[position] if position < len(tokens) else None
    def take():
        nonlocal position
        position += 1
        return tokens[position - 1]
    def factor():
        if peek() == "(":
            take()
            value = expression()
            take()
            return value
        return float(take())
    def term():
        value = factor()
        while peek() in ("*", "/"):
            value = value * factor() if take() == "*" else value / factor()
        return value
    def expression():
        value = term()
        while peek() in ("+", "-"):
            value = value + term() if take() == "+" else value - term()
        return value
    return expression()

print(sum(evaluate(f"({i} + 3) * 2 - {i} / 4 + (7 - 2) * 3") for i in range(1500)))
# --- knapsack
def knapsack(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]

print(knapsack([(i % 23 + 1, i * 37 % 101) for i in range(100)], 1000))
# --- permutations and inversions
from itertools import permutations
total = 0
for p in permutations(range(7)):
    total += sum(1 for i in range(7) for j in range(i + 1, 7) if p[i] > p[j])
print(total)
# --- game of life
def step(cells):
    counts = {}
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    counts[x + dx, y + dy] = counts.get((x + dx, y + dy), 0) + 1
    return {cell for cell, n in counts.items() if n == 3 or n == 2 and cell in cells}

cells = {(0, 1), (1, 3), (2, 0), (2, 1), (2, 4), (2, 5), (2, 6)}
for _ in range(60):
    cells = step(cells)
print(len(cells))
# --- collatz
def length(n, cache={1: 1}):
    path = []
    while n not in cache:
        path.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    base = cache[n]
    for offset, value in enumerate(reversed(path), 1):
        cache[value] = base + offset
    return cache[path[0]] if path else base

print(max(range(1, 30_000), key=length))
# --- edit distance
def distance(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]

print(distance("kitten sitting " * 15, "sitting kitten " * 15))
# --- binary search tree
class Node:
    __slots__ = ("key", "left", "right")
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

def insert(root, key):
    node = root
    while True:
        if key < node.key:
            if node.left is None:
                node.left = Node(key)
                return
            node = node.left
        else:
            if node.right is None:
                node.right = Node(key)
                return
            node = node.right

def in_order(node):
    if node:
        yield from in_order(node.left)
        yield node.key
        yield from in_order(node.right)

root = Node(5000)
for i in range(4000):
    insert(root, i * 7919 % 10007)
print(sum(key * i for i, key in enumerate(in_order(root))) % 1_000_007)
# --- fibonacci with memory
from functools import lru_cache
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

print(sum(fib(i) for i in range(400)) % 10**9)
# --- roman numerals
VALUES = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
def to_roman(n):
    result = ""
    for value, letters in VALUES:
        while n >= value:
            result += letters
            n -= value
    return result

print(sum(len(to_roman(n)) for n in range(1, 4000)))
# --- caesar and vigenere
import string
def vigenere(text, key):
    out = []
    for i, c in enumerate(text):
        if c in string.ascii_lowercase:
            shift = ord(key[i % len(key)]) - 97
            out.append(chr((ord(c) - 97 + shift) % 26 + 97))
        else:
            out.append(c)
    return "".join(out)

print(vigenere("attack at dawn, retreat at dusk. " * 400, "lemon")[:40])
# --- spiral of a matrix
def spiral(matrix):
    out = []
    while matrix:
        out += matrix.pop(0)
        matrix = [list(row) for row in zip(*matrix)][::-1]
    return out

print(sum(i * x for i, x in enumerate(spiral([[r * 90 + c for c in range(90)] for r in range(90)]))))
# --- topological sort
from collections import defaultdict, deque
edges = [(i, j) for i in range(1500) for j in (i + 1, i * 2 + 1, i + 17) if j < 1500]
after, degree = defaultdict(list), defaultdict(int)
for a, b in edges:
    after[a].append(b)
    degree[b] += 1
queue, order = deque(n for n in range(1500) if degree[n] == 0), []
while queue:
    node = queue.popleft()
    order.append(node)
    for nxt in after[node]:
        degree[nxt] -= 1
        if degree[nxt] == 0:
            queue.append(nxt)
print(len(order), order[-1])
# --- union find
class DisjointSet:
    def __init__(self, n):
        self.parent, self.size = list(range(n)), [1] * n
    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x
    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True

sets = DisjointSet(20_000)
print(sum(sets.union(i, i * 31 % 20_000) for i in range(20_000)))
# --- csv report
import csv, io
rows = "name,department,salary\n" + "".join(f"person{i},dept{i % 7},{1000 + i * 13 % 900}\n" for i in range(3000))
totals = {}
for row in csv.DictReader(io.StringIO(rows)):
    totals.setdefault(row["department"], []).append(int(row["salary"]))
for department, salaries in sorted(totals.items()):
    print(f"{department:<8}{sum(salaries) / len(salaries):>10.2f}{max(salaries):>8}")
# --- simulation of a queue
import random
random.seed(7)
clock, free_at, waits = 0.0, 0.0, []
for _ in range(20_000):
    clock += random.expovariate(1.0)
    start = max(clock, free_at)
    waits.append(start - clock)
    free_at = start + random.expovariate(1.25)
print(round(sum(waits) / len(waits), 3))
# --- monte carlo pi
import random
rng = random.Random(42)
inside = sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(60_000))
print(4 * inside / 60_000)
# --- merge sort
def merge_sort(xs):
    if len(xs) <= 1:
        return xs
    middle = len(xs) // 2
    left, right = merge_sort(xs[:middle]), merge_sort(xs[middle:])
    merged, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]

xs = [i * 7919 % 10007 for i in range(8000)]
print(merge_sort(xs) == sorted(xs))
# --- palindromes
def longest(s):
    best = ""
    for center in range(len(s)):
        for left, right in ((center, center), (center, center + 1)):
            while left >= 0 and right < len(s) and s[left] == s[right]:
                left, right = left - 1, right + 1
            if right - left - 1 > len(best):
                best = s[left + 1:right]
    return best

print(len(longest("abacdfgdcabba" * 40)))
# --- sudoku
def solve(board):
    for i in range(81):
        if board[i] == 0:
            row, column = divmod(i, 9)
            used = {board[row * 9 + k] for k in range(9)} | {board[k * 9 + column] for k in range(9)}
            used |= {board[(row // 3 * 3 + a) * 9 + column // 3 * 3 + b] for a in range(3) for b in range(3)}
            for value in range(1, 10):
                if value not in used:
                    board[i] = value
                    if solve(board):
                        return True
            board[i] = 0
            return False
    return True

puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
board = [int(c) for c in puzzle]
print(solve(board), board[:9])
# --- json transform
import json
records = [{"id": i, "tags": [f"t{i % 5}", f"t{i % 3}"], "score": i * 17 % 100} for i in range(3000)]
by_tag = {}
for record in json.loads(json.dumps(records)):
    for tag in record["tags"]:
        by_tag.setdefault(tag, []).append(record["score"])
print({tag: round(sum(scores) / len(scores), 2) for tag, scores in sorted(by_tag.items())})
# --- dataclasses
from dataclasses import dataclass, field
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False)

items = sorted(Item(i * 37 % 101 + 0.5, f"item{i}", [i % 3]) for i in range(6000))
print(items[0], sum(item.price for item in items if 1 in item.tags))
# --- perfect and amicable numbers
def divisor_sums(n):
    sums = [1] * (n + 1)
    for d in range(2, n // 2 + 1):
        for multiple in range(2 * d, n + 1, d):
            sums[multiple] += d
    return sums

sums = divisor_sums(12_000)
print([(a, sums[a]) for a in range(2, 12_000) if a < sums[a] <= 12_000 and sums[sums[a]] == a])
# --- two sum and three sum
def three_sum(nums, target):
    nums.sort()
    found = set()
    for i, a in enumerate(nums):
        left, right = i + 1, len(nums) - 1
        while left < right:
            total = a + nums[left] + nums[right]
            if total == target:
                found.add((a, nums[left], nums[right]))
                left += 1
            elif total < target:
                left += 1
            else:
                right -= 1
    return len(found)

print(three_sum([i * 7919 % 2003 - 1000 for i in range(300)], 0))
# --- flood fill
grid = [["#" if (r * 7 + c * 13) % 5 == 0 else "." for c in range(150)] for r in range(150)]
regions = 0
for r in range(150):
    for c in range(150):
        if grid[r][c] == ".":
            regions += 1
            stack = [(r, c)]
            while stack:
                y, x = stack.pop()
                if 0 <= y < 150 and 0 <= x < 150 and grid[y][x] == ".":
                    grid[y][x] = "o"
                    stack += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
print(regions)
# --- statistics
import math
data = [math.sin(i) * 10 + i % 7 for i in range(30_000)]
mean = sum(data) / len(data)
deviation = math.sqrt(sum((x - mean) ** 2 for x in data) / len(data))
ordered = sorted(data)
print(f"{mean:.4f} {deviation:.4f} {ordered[len(ordered) // 2]:.4f}")
# --- linear regression
xs = [i / 100 for i in range(5000)]
ys = [3 * x + 2 + (i * 37 % 11 - 5) / 10 for i, x in enumerate(xs)]
w, b = 0.0, 0.0
for _ in range(12):
    grad_w = sum(2 * (w * x + b - y) * x for x, y in zip(xs, ys)) / len(xs)
    grad_b = sum(2 * (w * x + b - y) for x, y in zip(xs, ys)) / len(xs)
    w, b = w - 0.0005 * grad_w, b - 0.0005 * grad_b
print(round(w, 3), round(b, 3))
# --- trie
class Trie:
    def __init__(self):
        self.children, self.is_word = {}, False
    def add(self, word):
        node = self
        for letter in word:
            node = node.children.setdefault(letter, Trie())
        node.is_word = True
    def starts_with(self, prefix):
        node = self
        for letter in prefix:
            if letter not in node.children:
                return 0
            node = node.children[letter]
        stack, count = [node], 0
        while stack:
            node = stack.pop()
            count += node.is_word
            stack.extend(node.children.values())
        return count

trie = Trie()
for i in range(5000):
    trie.add(format(i * 7919, "x"))
print(trie.starts_with("1"), trie.starts_with("ab"))
# --- coin change
def ways(coins, amount):
    table = [1] + [0] * amount
    for coin in coins:
        for value in range(coin, amount + 1):
            table[value] += table[value - coin]
    return table[amount]

print(ways([1, 2, 5, 10, 20, 50, 100, 200], 10_000))
# --- balanced brackets
from itertools import product
def balanced(text):
    stack = []
    pairs = {")": "(", "]": "["}
    for c in text:
        if c in "([":
            stack.append(c)
        elif not stack or stack.pop() != pairs[c]:
            return False
    return not stack

print(sum(balanced(text) for text in product("()[]", repeat=7)), sum(balanced(text) for text in product("()[]", repeat=6)))
# --- run length coding
from itertools import groupby
text = "".join(chr(97 + i * i % 3) * (i % 9 + 1) for i in range(5000))
packed = "".join(f"{letter}{len(list(group))}" for letter, group in groupby(text))
unpacked, at = [], 0
while at < len(packed):
    end = at + 1
    while end < len(packed) and packed[end].isdigit():
        end += 1
    unpacked.append(packed[at] * int(packed[at + 1:end]))
    at = end
print(len(packed), "".join(unpacked) == text)
# --- cache with eviction
from collections import OrderedDict
class LRU:
    def __init__(self, size):
        self.size, self.data = size, OrderedDict()
    def get(self, key):
        if key not in self.data:
            return None
        self.data.move_to_end(key)
        return self.data[key]
    def put(self, key, value):
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.size:
            self.data.popitem(last=False)

cache, hits = LRU(100), 0
for i in range(50_000):
    key = i * i % 151
    if cache.get(key) is not None:
        hits += 1
    else:
        cache.put(key, i)
print(hits)
# --- generators
def numbers():
    n = 1
    while True:
        yield n
        n += 1

def squares(source):
    for n in source:
        yield n * n

def take_while(source, limit):
    for n in source:
        if n > limit:
            return
        yield n

print(sum(n for n in take_while(squares(numbers()), 900_000_000) if n % 3))
# --- log analysis
import re
lines = [f"2026-01-{i % 28 + 1:02d} 12:{i % 60:02d}:00 {'ERROR' if i % 9 == 0 else 'INFO'} user={i % 50} took={i * 7 % 300}ms" for i in range(6000)]
pattern = re.compile(r"(\S+) (\S+) (ERROR|INFO) user=(\d+) took=(\d+)ms")
slow = {}
for line in lines:
    day, _, level, user, took = pattern.match(line).groups()
    if level == "ERROR" or int(took) > 250:
        slow.setdefault(user, []).append((day, int(took)))
print(sorted(((len(events), user) for user, events in slow.items()), reverse=True)[:3])
# --- fractions
from fractions import Fraction
total = Fraction(0)
for n in range(1, 400):
    total += Fraction(1, n * (n + 1))
print(total)
# --- gcd and modular inverse
def extended(a, b):
    x0, x1 = 1, 0
    while b:
        q, a, b = a // b, b, a % b
        x0, x1 = x1, x0 - q * x1
    return a, x0

print(sum(extended(n, 1_000_003)[1] % 1_000_003 for n in range(1, 20_000)))
# --- text wrapping
words = ("lorem ipsum dolor sit amet consectetur adipiscing elit " * 600).split()
lines, line = [], ""
for word in words:
    if len(line) + len(word) + 1 > 60:
        lines.append(line)
        line = word
    else:
        line = f"{line} {word}" if line else word
lines.append(line)
print(len(lines), max(map(len, lines)))
# --- bit tricks
def popcount(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count

print(sum(popcount(n) for n in range(60_000)), max(n ^ n >> 1 for n in range(30_000)))
# --- rectangles and histogram
def largest(heights):
    stack, best = [], 0
    for i, height in enumerate(heights + [0]):
        start = i
        while stack and stack[-1][1] >= height:
            start, h = stack.pop()
            best = max(best, h * (i - start))
        stack.append((start, height))
    return best

print(largest([i * 7919 % 997 for i in range(40_000)]))
# --- subsets
def subset_sums(nums):
    sums = [()]
    for n in nums:
        sums += [subset + (n,) for subset in sums]
    return sums

print(sum(sum(subset) == 60 for subset in subset_sums(range(1, 15))))
# --- interval merging
intervals = sorted((i * 7919 % 100_000, i * 7919 % 100_000 + i % 40) for i in range(15_000))
merged = [list(intervals[0])]
for start, end in intervals[1:]:
    if start <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], end)
    else:
        merged.append([start, end])
print(len(merged))
# --- base conversion
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
def convert(n, base):
    out = ""
    while n:
        n, r = divmod(n, base)
        out = DIGITS[r] + out
    return out or "0"

print(sum(int(convert(n, base), base) == n for n in range(1500) for base in (2, 7, 16, 36)))
# --- mandelbrot
rows = []
for y in range(24):
    row = ""
    for x in range(60):
        c, z, n = complex(x / 20 - 2.2, y / 10 - 1.2), 0j, 0
        while abs(z) < 2 and n < 40:
            z, n = z * z + c, n + 1
        row += " .:-=+*#%@"[n * 9 // 40]
    rows.append(row)
print("\n".join(rows))
# --- stock trading
prices = [100 + (i * 7919 % 61) - 30 for i in range(3000)]
def best_profit(prices, k):
    hold, free = [-10**9] * (k + 1), [0] * (k + 1)
    for price in prices:
        for t in range(1, k + 1):
            hold[t] = max(hold[t], free[t - 1] - price)
            free[t] = max(free[t], hold[t] + price)
    return free[k]

print(best_profit(prices, 12))
