import json
import os


def _list_folder(root, limit):
    """Prints the files of a folder by their paths from where it is, links left out, as JSON; at most so many."""
    found = []
    for folder, inner, names in os.walk(root):
        inner.sort()
        paths = [os.path.join(folder, name) for name in sorted(names)]
        found += [os.path.relpath(path, root) for path in paths if os.path.isfile(path) and not os.path.islink(path)]
        if len(found) > limit:
            break
    print(json.dumps(found[: limit + 1]))
