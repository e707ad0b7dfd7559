def g(n):
    for i in range(n): yield i
sum(x for x in g(350_000))
