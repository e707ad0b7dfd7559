for _ in range(12): xs = [i * 2 for i in range(50_000) if i % 3]
