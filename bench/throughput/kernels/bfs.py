from collections import deque
n = 300
seen = [[False] * n for _ in range(n)]
q = deque([(0, 0)]); seen[0][0] = True
while q:
    x, y = q.popleft()
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        u, v = x + dx, y + dy
        if 0 <= u < n and 0 <= v < n and not seen[u][v]:
            seen[u][v] = True; q.append((u, v))
