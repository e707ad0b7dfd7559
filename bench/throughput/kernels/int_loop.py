total = 0
for i in range(900_000): total += i * i % 7
