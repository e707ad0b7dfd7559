n = 1_000_000
s = bytearray([1]) * (n + 1)
for i in range(2, 1001):
    if s[i]: s[i * i::i] = bytes(len(range(i * i, n + 1, i)))
sum(s)
