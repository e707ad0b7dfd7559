import random
r = random.Random(1)
for _ in range(4): sorted([r.random() for _ in range(60_000)])
