"""Explains errors whose reason is the sandbox, in one line for the reader of a report: what to do instead."""

import errno
import re
import sys

AVAILABLE = {
    **{name: name for name in (
        "aiohttp altair astropy attrs bokeh boto3 cffi charset_normalizer click contourpy cryptography cython dash dask "
        "django fastapi flask folium geopandas gymnasium h5py httpx imageio jiter joblib lightgbm lxml markdown "
        "matplotlib mpmath msgspec networkx nltk numpy openai openpyxl pandas patsy plotly polars prettytable pulp "
        "pyarrow pydantic pymongo pymysql pyparsing pytest pytz redis regex requests rich scapy scipy seaborn setuptools "
        "shapely six soundfile sqlalchemy statsmodels sympy tabulate termcolor textblob tqdm ujson urllib3 websockets "
        "wordcloud xgboost xlrd xlsxwriter xlwt xmltodict"
    ).split()},
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "cvxpy": "cvxpy-base",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "google": "protobuf",
    "mysql": "mysql-connector-python",
    "opt_einsum": "opt-einsum",
    "pydantic_core": "pydantic-core",
    "pygame": "pygame-ce",
    "pysat": "python-sat",
    "pywt": "pywavelets",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
    "z3": "z3-solver",
}
"""Packages that `paddock packages add` can add, by the modules that programs of models import most."""

UNAVAILABLE = frozenset(
    "catboost cupy gensim gym jax keras librosa numba numexpr ortools pexpect pip psutil psycopg2 pycrypto "
    "pytesseract rdkit selenium spacy streamlit tensorflow tensorflow_datasets tornado torch torchvision transformers".split()
)
"""Modules of packages that do not exist for WebAssembly or are of no use here. Other names may be mistakes."""

NO_DISPLAY = "the sandbox has no display: print the result instead"
NO_TERMINAL = "the sandbox has no terminal: read sys.stdin and write sys.stdout instead"
NO_JAVASCRIPT = "Python cannot call JavaScript here: use the standard library instead"
NO_NETWORK = "the sandbox has no network: use files, or the tools of the session if it has any"
NO_PROCESSES = "a process cannot be copied or replaced here: use multiprocessing, or subprocess with sys.executable"
NO_SHELL = "this profile has no shell: use Python's own functions, or a profile with a shell"
NO_CALL = "WebAssembly has no such system call: use another way"
LIBRARY = "this module needs what WebAssembly lacks: use another module of the standard library"
TOO_LARGE = "Python is a 32-bit program here: sizes, indexes and lengths must be less than 2**31"

NOTEBOOK_LINE = re.compile(r"\s*(?:(?P<command>!)|(?P<magic>%%?[A-Za-z]\w*)|(?:[\w.%]+(?P<help>\?\??)\s*$))").match
"""Matches lines of notebooks that are not Python."""

INSTEAD_OF_MAGIC = {
    **dict.fromkeys(("%pip", "%conda"), "import the packages of the profile"),
    "%matplotlib": "leave the line out, as figures show themselves",
    **dict.fromkeys(("%time", "%timeit", "%%time", "%%timeit"), "use the modules time or timeit"),
    "%%writefile": "use open(path, 'w')",
    "%cd": "use os.chdir(path)",
    "%env": "use os.environ",
    **dict.fromkeys(("%run", "%load"), "use runpy.run_path(path)"),
    **dict.fromkeys(("%prun", "%%prun"), "use cProfile.run(statement)"),
    "%store": "use pickle with a file",
    "%debug": "the report of the exception has its lines",
    **dict.fromkeys(("%%bash", "%%sh", "%sx", "%system"), "use subprocess.run(command, shell=True)"),
}
"""What plain Python has in the place of a magic."""

MODULES = {
    **dict.fromkeys(("tkinter", "_tkinter", "turtle", "turtledemo", "idlelib"), NO_DISPLAY),
    **dict.fromkeys(("curses", "_curses", "_curses_panel", "readline"), NO_TERMINAL),
    **dict.fromkeys(("js", "pyodide", "pyodide_js", "micropip", "_pyodide"), NO_JAVASCRIPT),
}
NATIVE_ELSEWHERE = frozenset(("_overlapped", "_scproxy", "_winapi", "_wmi", "msvcrt", "nt", "winreg", "winsound"))
"""Modules that CPython on Linux lacks too."""

PROCESS_CALLS = frozenset(("fork", "forkpty", "execv", "execve", "posix_spawn", "posix_spawnp"))
SIZE_ERRORS = "cannot fit 'int' into an index-sized integer", "Python int too large to convert to C ssize_t"
NETWORK_FILES = "/ssl.py", "/_ssl.py"
REFUSALS = frozenset(("refuse_network", "refuse_name"))
"""Functions of `addresses` that raise for what would leave the session."""
NO_SSL = "SSL is not supported in Pyodide"


denials = {}
"""Attempts of the running exec to reach JavaScript or processes that were refused, by kind."""


def deny(kind):
    """Counts a refused attempt."""
    denials[kind] = denials.get(kind, 0) + 1


class _BridgeFinder:
    """Counts imports of Pyodide's bridge to JavaScript, which no finder finds."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in BRIDGE:
            deny("javascript")
        return None


BRIDGE = ("js", "pyodide_js")
for _name in BRIDGE:
    sys.modules.pop(_name, None)
sys.meta_path.append(_BridgeFinder)


def explain(error, text):
    """Returns the text of an exception, with an explanation if its reason is the sandbox."""
    try:
        hint = _hint(error, text)
    except Exception:
        return text  # the program has replaced what the explanation needs
    if hint is None:
        return text
    return f"{text.replace(' in Pyodide', '')}{' ' if hint.startswith('(') else '; '}{hint}"


def _hint(error, text):
    if isinstance(error, ModuleNotFoundError):
        return _module_hint(error.name)
    if isinstance(error, SyntaxError):
        return _notebook_hint(error)
    if isinstance(error, OverflowError):
        return TOO_LARGE if text in SIZE_ERRORS else None
    if isinstance(error, AttributeError):
        is_call = error.name in PROCESS_CALLS and getattr(error.obj, "__name__", None) in ("os", "posix")
        if is_call:
            deny("processes")
        return NO_PROCESSES if is_call else None
    if isinstance(error, NotImplementedError):
        return NO_NETWORK if text == NO_SSL else None
    if isinstance(error, OSError):
        return _call_hint(error)
    return None


def _module_hint(name):
    top = (name or "").partition(".")[0]
    if top in ("pyodide", "_pyodide"):
        deny("javascript")
    if top in MODULES:
        return MODULES[top]
    if top in AVAILABLE:
        return f'(not in profile "{_profile}"; paddock packages add {AVAILABLE[top]})'
    if top in UNAVAILABLE:
        return f"{top} is not available in WebAssembly: use the standard library instead"
    if top in sys.stdlib_module_names and top not in NATIVE_ELSEWHERE and top not in sys.modules:
        return LIBRARY
    return None


def _notebook_hint(error):
    found = NOTEBOOK_LINE(error.text or "")
    if found is None:
        return None
    if found["command"]:
        what, instead = "a shell command of IPython", "use subprocess.run(command, shell=True)"
    elif found["help"]:
        what, instead = "a question of IPython", "use help()"
    else:
        what, instead = f"an IPython magic ({found['magic']})", INSTEAD_OF_MAGIC.get(found["magic"], "use plain Python")
    return f"line {error.lineno} is {what}: {instead}"


def _call_hint(error):
    seen = set()
    part = error
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        if _last_file(part).endswith(NETWORK_FILES) or _is_refusal(part):
            return NO_NETWORK
        part = part.__cause__ or part.__context__
    if error.errno == errno.ENOENT and _last_file(error) == "<paddock subprocesses>" and not _commands.is_available():
        return None if error.filename and "/" in str(error.filename) else NO_SHELL
    names = _called_names(error)
    if error.errno in (errno.ENOSYS, errno.ENOEXEC) and names & PROCESS_CALLS:
        deny("processes")
        return NO_PROCESSES
    return NO_CALL if error.errno == errno.ENOSYS else None


def _is_refusal(error):
    frame = _last_frame(error)
    return frame is not None and frame.f_code.co_filename == "<paddock addresses>" and frame.f_code.co_name in REFUSALS


def _last_file(error):
    frame = _last_frame(error)
    return frame.f_code.co_filename if frame else ""


def _called_names(error):
    frame = _last_frame(error)
    return set(frame.f_code.co_names) if frame else set()


def _last_frame(error):
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace.tb_frame if trace else None
