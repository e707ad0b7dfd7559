answer = {"content": "", "ready": False}


def FINAL(value):
    return f"FINAL({value})"


def FINAL_VAR(name):
    clean = str(name).strip().strip("\"'")
    value = globals().get(clean)
    return f"FINAL_VAR({clean})" if value is None else f"FINAL({value})"


def SHOW_VARS():
    return _paddock_names()


def _paddock_names():
    return sorted(name for name in globals() if not name.startswith("_"))


def _paddock_text(value, limit=1_000_000):
    try:
        return str(value)[:limit]
    except Exception:
        return "<unrepresentable>"


def _paddock_new(before):
    shown = {}
    for name in _paddock_names():
        if name in before or len(shown) == 200:
            continue
        try:
            text = repr(globals()[name])
        except Exception:
            text = "<unrepresentable>"
        shown[name] = text if len(text) <= 500 else text[:500] + "..."
    return shown


def _paddock_look(before, variable):
    """Returns what the server needs of the namespace after a step, as data."""
    given = answer if isinstance(globals().get("answer"), dict) else {}
    found = globals().get(variable) if variable else None
    return {
        "names": _paddock_names()[:1000],
        "new": _paddock_new(set(before)),
        "variable": None if found is None else _paddock_text(found),
        "ready": bool(given.get("ready", False)),
        "content": _paddock_text(given.get("content", "")),
    }
