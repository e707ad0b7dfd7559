print(__import__("json").dumps([
    [path[len(home) + 1:], stat.st_size, stat.st_mtime_ns]
    for os, home in [(__import__("os"), "/home/pyodide")]
    for folder, _, names in os.walk(home)
    for path in sorted(os.path.join(folder, name) for name in names)
    if os.path.isfile(path) and not os.path.islink(path)
    for stat in [os.stat(path)]
][:10000]))
