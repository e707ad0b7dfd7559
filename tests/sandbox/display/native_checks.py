"""
Checks rich values in native CPython with the published packages, as the sandbox's own tests have stand-ins only:

    python -m pip install matplotlib pillow pandas
    python tests/sandbox/display/native_checks.py
"""

import base64
import json
import pathlib
import sys
import types

GUEST = pathlib.Path(__file__).resolve().parents[3] / "src/sandbox/guest"
PNG = b"\x89PNG\r\n\x1a\n"
sent = []


def send(payload):
    if payload:
        sent.append(json.loads(payload))
    else:
        sent.clear()


bridge = types.SimpleNamespace(display=send)
errors = types.SimpleNamespace(describe=lambda error: {"traceback": repr(error)})
display = types.ModuleType("display")
vars(display).update(_bridge=bridge, _errors=errors)
exec((GUEST / "python/display.py").read_text(), vars(display))


def run(code, namespace={}):
    """Runs a block, of which the last line is an expression. Returns what it showed."""
    sent.clear()
    *lines, last = code.strip().split("\n")
    exec("\n".join(lines), namespace)
    value = eval(last, namespace)
    if value is not None:
        display.show_value(value)
    display.end_block()
    return list(sent)


def png(bundle):
    data = base64.b64decode(bundle["image/png"], validate=True)
    assert data.startswith(PNG) and len(data) > 500, bundle
    return data


def check_matplotlib():
    shown = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])")
    assert len(shown) == 1 and png(shown[0]), shown
    assert shown[0]["text/plain"] == "<Figure size 640x480 with 1 Axes>"
    assert run("__import__('sys').modules.get('IPython')") == []
    assert run("plt.get_fignums()") == []
    shown = run("plt.figure().add_subplot()\nplt.show()\nplt.figure().add_subplot()\nNone")
    assert len(shown) == 2, shown
    assert len(run("fig, axes = plt.subplots()\nfig")) == 2  # as a value, and at the end as an open figure
    assert len(run("fig")) == 1  # it is closed, and shown as a value
    assert run("plt.figure()\nplt.close('all')") == []
    assert len(run("from matplotlib.figure import Figure\nf = Figure()\nf.add_subplot().plot([1])\nf")) == 1
    try:
        run("plt.plot([1])\n1 / 0")
    except ZeroDivisionError:
        display.end_block()
    assert len(sent) == 1 and run("plt.get_fignums()") == []
    assert run("plt.plot([1])\nplt.savefig('/dev/null', format='png')\nplt.close()") == []


def check_pillow():
    shown = run("from PIL import Image\nImage.new('RGB', (40, 40), 'red')")
    assert len(shown) == 1, shown
    assert base64.b64decode(shown[0]["image/png"]).startswith(PNG)


def check_pandas():
    shown = run("import pandas\npandas.DataFrame({'a': [1, 2]})")
    assert "<table" in shown[0]["text/html"], shown
    shown = run("display(pandas.DataFrame({'a': [1, 2]}))", {"pandas": sys.modules["pandas"], "display": display.display})
    assert shown[0]["text/plain"].split() == "a 0 1 1 2".split() and "<table" in shown[0]["text/html"], shown
    assert run("pandas.Series([1])") == []  # it has no rich form, so its repr is the value


for check in (check_matplotlib, check_pillow, check_pandas):
    check()
    print(f"ok {check.__name__}", sys.modules["matplotlib"].__version__)
