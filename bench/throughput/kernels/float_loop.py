x = 0.5
for _ in range(700_000): x = 3.7 * x * (1 - x)
