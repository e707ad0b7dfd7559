import json
import os


def _list_folder(root, limit):
    """Prints the relative paths of a folder's files as JSON, without links; at most `limit` + 1 of them."""
    found = []
    for folder, inner, names in os.walk(root):
        inner.sort()
        paths = [os.path.join(folder, name) for name in sorted(names)]
        found += [os.path.relpath(path, root) for path in paths if os.path.isfile(path) and not os.path.islink(path)]
        if len(found) > limit:
            break
    print(json.dumps(found[: limit + 1]))
