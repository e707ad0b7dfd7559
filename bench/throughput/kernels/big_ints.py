x = 1
for i in range(1, 2_500): x *= i
for _ in range(40): x // 12345678901234567891; x * x
pow(3, 10**5, 10**60 + 7)
