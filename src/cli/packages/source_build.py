"""Builds a source distribution into a pure wheel. Runs in a sandbox, as the build is code of the package.

The host gives the source and the wheels that the build needs, and takes the wheel.
"""

import ast
import base64
import contextlib
import hashlib
import importlib
import io
import json
import os
import pathlib
import sys
import tarfile
import tomllib
import zipfile

HOME = pathlib.Path.cwd()
#: Backends that run a compiler in every build.
COMPILING = ("maturin", "mesonpy", "scikit_build_core", "setuptools_rust")
#: Names in setup.py of what makes native extensions.
MAKERS = ("Extension", "cythonize")
IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")


class Refused(Exception):
    """The source cannot be built into a pure wheel."""


def report(**result):
    (HOME / "result.json").write_text(json.dumps(result))


def unpack(name):
    """Unpacks the source and returns its folder."""
    target = HOME / "source"
    if name.endswith(".zip"):
        with zipfile.ZipFile(HOME / name) as archive:
            archive.extractall(target)
    else:
        with tarfile.open(HOME / name) as archive:
            archive.extractall(target, filter="data")
    folders = [path for path in target.iterdir() if path.is_dir()]
    if len(folders) != 1:
        raise Refused(f"a source distribution must have one folder: found {len(folders)}")
    return folders[0]


def read_settings(name):
    """Returns the texts of pyproject.toml and setup.py, without unpacking the source. A missing one is empty."""
    texts = dict.fromkeys(("pyproject.toml", "setup.py"), "")
    for path, read in list_files(name):
        folder, _, file = path.partition("/")
        if file in texts:
            texts[file] = read().decode("utf-8")
    return texts.values()


def list_files(name):
    """Yields the path of each file, and a function that reads it."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(HOME / name) as archive:
            for path in archive.namelist():
                yield path, lambda: archive.read(path)
    else:
        with tarfile.open(HOME / name) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, lambda: archive.extractfile(member).read()


def read_system(text):
    """Returns the table `build-system` of pyproject.toml, with the defaults of PEP 517."""
    system = tomllib.loads(text).get("build-system", {})
    return {"requires": ["setuptools"], "build-backend": "setuptools.build_meta:__legacy__", **system}


def needs_compiler(text):
    """Returns whether setup.py makes an extension that is neither optional nor built in a try statement."""
    nodes = list(ast.walk(ast.parse(text)))
    extends = any(
        getattr(node, "id", "") in MAKERS or getattr(node, "attr", "") in (*MAKERS, "ext_modules") for node in nodes
    )
    optional = any(isinstance(node, ast.ClassDef) or is_failure_handler(node) for node in nodes) or any(
        isinstance(node, ast.keyword) and node.arg == "optional" for node in nodes
    )
    return extends and not optional


def is_failure_handler(node):
    """Returns whether a node handles an error of a build. A missing module says nothing about the compiler."""
    return isinstance(node, ast.ExceptHandler) and getattr(node.type, "id", "") not in IMPORT_ERRORS


def inspect(name):
    project, setup = read_settings(name)
    system = read_system(project)
    if system["build-backend"].split(".")[0] in COMPILING or needs_compiler(setup):
        raise Refused("its native extension is not optional, and a sandbox has no compiler")
    report(requires=system["requires"])


def build(name, wheels):
    folder = unpack(name)
    path = folder / "pyproject.toml"
    system = read_system(path.read_text("utf-8") if path.exists() else "")
    for wheel in wheels:
        with zipfile.ZipFile(HOME / wheel) as archive:
            archive.extractall(HOME / "needed")
    sys.path[:0] = [str(folder / path) for path in system.get("backend-path", [])] + [str(HOME / "needed")]
    importlib.invalidate_caches()
    os.chdir(folder)
    module, _, attribute = system["build-backend"].partition(":")
    backend = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        backend = getattr(backend, part)
    output = HOME / "output"
    output.mkdir()
    with contextlib.redirect_stdout(sys.stderr):
        built = backend.build_wheel(str(output))
    file, contents = to_pure(output / built)
    (HOME / "built.whl").write_bytes(contents)
    report(file=file)


def to_pure(path):
    """Returns the name and the contents of the wheel for all platforms, which are the same in each build."""
    name, version = path.name.split("-")[:2]
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    native = [file for file in files if file.endswith((".so", ".pyd", ".dylib", ".a"))]
    if native:
        raise Refused(f"its wheel has native code: {native[0]}")
    (info,) = [file.removesuffix("/WHEEL") for file in files if file.endswith(".dist-info/WHEEL")]
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: paddock\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [record_row(file, contents) for file, contents in sorted(files.items()) if file != f"{info}/RECORD"]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, contents in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(file), contents, zipfile.ZIP_DEFLATED)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


def record_row(file, contents):
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    quoted = f'"{file}"' if "," in file else file
    return f"{quoted},sha256={digest},{len(contents)}\n"


def run(step, *arguments):
    try:
        step(*arguments)
    except Refused as error:
        report(refused=str(error))
    except (Exception, SystemExit) as error:
        report(refused=f"its build ended with {type(error).__name__}: {error}"[:500])
