words = [str(i * 7919 % 100_003) for i in range(60_000)]
sorted(words, key=lambda w: (len(w), w[::-1]))
