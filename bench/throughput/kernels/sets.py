a = set(range(0, 300_000, 3)); b = set(range(0, 300_000, 5))
for _ in range(8): len(a & b) + len(a | b) + len(a - b)
sum(1 for i in range(200_000) if i in a)
