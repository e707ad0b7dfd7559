def f(i):
    if i % 3 == 0: raise ValueError(i)
    return i
n = 0
for i in range(120_000):
    try: n += f(i)
    except ValueError as e: n -= e.args[0]
