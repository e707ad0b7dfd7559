"""`pip` and console scripts of the shell. Run as `python -m _shell_packages pip …` or `script NAME …`."""

import importlib.metadata
import re
import sys

NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?").match


def main(kind, *args):
    if kind == "pip":
        return pip(list(args))
    name, *rest = args
    (entry,) = list(importlib.metadata.entry_points(group="console_scripts", name=name))[:1]
    sys.argv[:] = [f"/usr/bin/{name}", *rest]
    return entry.load()()


def pip(args):
    words = [arg for arg in args if not arg.startswith("-")]
    if "--version" in args or "-V" in args:
        print(f"the packages of this sandbox, for python {sys.version_info.major}.{sys.version_info.minor}")
        return 0
    command, *names = words or [""]
    if command in ("list", "freeze"):
        return _list(command == "freeze" or "--format=freeze" in args, args)
    if command == "show":
        return _show(names)
    if command == "check":
        print("No broken requirements found.")
        return 0
    if command in ("install", "download", "wheel"):
        return _install(command, names, args)
    if command == "uninstall":
        print("ERROR: Cannot uninstall as the packages of a sandbox are read-only", file=sys.stderr)
        return 1
    if command == "":
        print("Usage: pip list | freeze | show NAME | install NAME")
        return 0
    print(f'ERROR: unknown command "{command}", or one that is not available in the sandbox', file=sys.stderr)
    return 1


def _distributions():
    found = {}
    for each in importlib.metadata.distributions():
        found.setdefault(_normal(each.name), each)
    return [found[name] for name in sorted(found)]


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _list(is_freeze, args):
    rows = [(each.name, each.version) for each in _distributions()]
    if "--format=json" in args:
        import json

        print(json.dumps([{"name": name, "version": version} for name, version in rows]))
    elif is_freeze:
        for name, version in rows:
            print(f"{name}=={version}")
    elif rows:
        rows.insert(0, ("Package", "Version"))
        widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
        rows.insert(1, ("-" * widths[0], "-" * widths[1]))
        for name, version in rows:
            print(f"{name.ljust(widths[0])} {version}")
    return 0


def _show(names):
    if not names:
        print("WARNING: ERROR: Please provide a package name or names.", file=sys.stderr)
        return 1
    known = {_normal(each.name): each for each in _distributions()}
    found = [known[_normal(name)] for name in names if _normal(name) in known]
    missing = [name for name in names if _normal(name) not in known]
    if missing:
        print(f"WARNING: Package(s) not found: {', '.join(missing)}", file=sys.stderr)
    for at, each in enumerate(found):
        if at > 0:
            print("---")
        data = each.metadata
        needed = sorted({NAME(text)[0] for text in each.requires or [] if "extra ==" not in text}, key=str.lower)
        users = sorted(
            (
                other.name
                for other in known.values()
                if any(
                    _normal(NAME(text)[0]) == _normal(each.name)
                    for text in other.requires or []
                    if "extra ==" not in text
                )
            ),
            key=str.lower,
        )
        fields = {
            "Name": each.name,
            "Version": each.version,
            "Summary": data.get("Summary", ""),
            "Home-page": data.get("Home-page", ""),
            "Author": data.get("Author", ""),
            "Author-email": data.get("Author-email", ""),
            "License": data.get("License", ""),
            "Location": str(each.locate_file("")),
            "Requires": ", ".join(needed),
            "Required-by": ", ".join(users),
        }
        for name, value in fields.items():
            print(f"{name}: {value}".rstrip() if value == "" else f"{name}: {value}")
    return 0 if found else 1


def _install(command, names, args):
    if any(arg in ("-r", "--requirement", "-e", "--editable") for arg in args):
        print(f"ERROR: Cannot {command} from files as a sandbox has no network", file=sys.stderr)
        return 1
    known = {_normal(each.name): each for each in _distributions()}
    code = 0
    for name in names:
        match = NAME(name)
        each = known.get(_normal(match[0])) if match else None
        if each is not None and command == "install" and "--upgrade" not in args and "-U" not in args:
            print(f"Requirement already satisfied: {name} in {each.locate_file('')} ({each.version})")
            continue
        code = 1
        package = match[0] if match else name
        print(
            f"ERROR: Cannot {command} {name} as a sandbox has no network: its profile must have the package: "
            f"paddock packages add {package}",
            file=sys.stderr,
        )
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
