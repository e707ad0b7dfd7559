n = 500
a = [(i * 7919) % 97 for i in range(n)]
b = [(i * 104729) % 97 for i in range(n)]
dp = [[0] * (n + 1) for _ in range(n + 1)]
for i in range(n):
    for j in range(n):
        dp[i + 1][j + 1] = dp[i][j] + 1 if a[i] == b[j] else max(dp[i][j + 1], dp[i + 1][j])
