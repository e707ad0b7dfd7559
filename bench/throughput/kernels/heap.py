import heapq
h = []
for i in range(120_000): heapq.heappush(h, (i * 7919 % 100_003, i))
while h: heapq.heappop(h)
