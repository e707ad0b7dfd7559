class P:
    def __init__(self): self.x = 0
    def step(self, d): self.x += d
p = P()
for i in range(350_000): p.step(i & 3)
