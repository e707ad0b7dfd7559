counts = {}
for i in range(500_000):
    key = i % 1009
    counts[key] = counts.get(key, 0) + 1
