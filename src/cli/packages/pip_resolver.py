"""Runs pip for another platform than the host's. Reads a request from stdin and writes lines of JSON to stdout.

pip takes the tags of wheels from its options, but evaluates environment markers for the interpreter that runs it. This
script gives pip the markers of the request. The script drops pip's own output: pip's errors are objects, which become
failures here.

Nothing of a package runs on the host. Three walls hold independently: a dependency that names an address is refused when
pip reads the metadata; pip cannot prepare a source distribution; and this process can start no program but `keyring`,
from which pip may read the user's credentials.
"""

import hashlib
import json
import logging
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

request = json.load(sys.stdin)
output = os.fdopen(os.dup(1), "w", encoding="utf-8")
null = os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1)
os.dup2(null, 2)


def write(**line):
    output.write(json.dumps(line) + "\n")
    output.flush()


STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system"}


def refuse_programs(event, arguments):
    if event in STARTS or event == "subprocess.Popen" and not is_keyring(*arguments[:2]):
        raise PermissionError(f"{event} is refused: nothing of a package runs on the host")


def is_keyring(executable, command):
    program = executable or (command if isinstance(command, (str, bytes, os.PathLike)) else command[0])
    return os.path.splitext(os.path.basename(os.fsdecode(program)))[0] == "keyring"


from pip._vendor.packaging import markers
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
from pip._vendor.packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from pip._vendor.packaging.version import InvalidVersion

if "environment" in request:
    markers.default_environment = lambda: dict(request["environment"])

errors = []  # exceptions that pip has reported
unreachable = []  # addresses that could not be reached
unusable = []  # files of other platforms or Pythons
filenames = []  # their names, which pip computes anew each time
make_record = logging.getLogRecordFactory()


def watch(name, level, path, line, text, args, exc_info, func=None, *rest, **more):
    if exc_info and exc_info[1] is not None:
        errors.append(exc_info[1])
    elif func == "_handle_get_simple_fail" and args and isinstance(args[-1], str):
        unreachable.append(str(args[0]))  # a response of a server has an exception instead of a text
    elif func == "_log_skipped_link" and args:
        unusable.append(args[-1])
    return make_record(name, level, path, line, text, args, exc_info, func, *rest, **more)


logging.setLogRecordFactory(watch)
logging.Logger.callHandlers = lambda logger, record: None  # pip would write thousands of lines to nowhere


class AddressRefused(Exception):
    """A package needs another one from an address, which could name a source that pip would build on the host."""

    def __init__(self, parent, requirement):
        super().__init__(f"{parent} needs {requirement}")
        self.parent, self.requirement = parent, requirement


class BuildRefused(Exception):
    """pip was about to build a source distribution on the host."""


from pip._internal.distributions.sdist import SourceDistribution
from pip._internal.metadata import importlib as importlib_metadata
from pip._internal.metadata import pkg_resources as pkg_resources_metadata


def refuse_addresses(distribution):
    read = distribution.iter_dependencies

    def iter_dependencies(self, *args, **options):
        for requirement in read(self, *args, **options):
            if requirement.url is not None:
                raise AddressRefused(f"{canonicalize_name(self.raw_name)} {self.version}", requirement)
            yield requirement

    distribution.iter_dependencies = iter_dependencies


refuse_addresses(importlib_metadata.Distribution)
refuse_addresses(pkg_resources_metadata.Distribution)


def refuse_build(self, *_, **__):
    raise BuildRefused(f"{self.req} is a source distribution")


SourceDistribution.prepare_distribution_metadata = refuse_build

from pip._internal.resolution.resolvelib.provider import PipProvider

PARALLEL_PAGES = 8
MAX_LACKING = 2  # versions that need a package without a wheel: older ones follow, and each takes a request


class WheelsMissing(Exception):
    """Versions need packages of which the index has no wheel that the target can use, in any version."""


lacking = {}  # by version that needs packages without a wheel: these requirements, with the version
read_dependencies = PipProvider.get_dependencies


def get_dependencies(self, candidate):
    needed = list(read_dependencies(self, candidate))
    finder = self._factory._finder
    read_pages(finder, needed)
    causes = [(requirement, candidate) for requirement in needed if not has_wheel(finder, requirement)]
    if causes:
        lacking[str(candidate)] = causes
        if len(lacking) == MAX_LACKING:
            raise WheelsMissing(str(candidate))
    return needed


def read_pages(finder, requirements):
    """Reads pages of the index at the same time. The finder keeps what it has read."""
    names = {requirement.project_name for requirement in requirements if is_of_index(requirement)}
    if len(names) > 1:
        with ThreadPoolExecutor(PARALLEL_PAGES) as pool:
            list(pool.map(finder.find_all_candidates, sorted(names)))


def has_wheel(finder, requirement):
    return not is_of_index(requirement) or bool(finder.find_all_candidates(requirement.project_name))


def is_of_index(requirement):
    return requirement.get_candidate_lookup()[1] is not None  # else a version of Python, or a file


PipProvider.get_dependencies = get_dependencies


def report_progress(*, size=None, **_):
    def count(chunks):
        done = 0
        written = 0.0
        for chunk in chunks:
            done += len(chunk)
            if time.monotonic() - written > 0.1 or done == size:
                written = time.monotonic()
                write(progress={"done": done, "total": size})
            yield chunk

    return count


from pip._internal.cli import progress_bars

progress_bars.get_download_progress_renderer = report_progress

from pip._internal.cli.main import main
from pip._internal.commands import create_command
from pip._internal.exceptions import HashError, HashErrors, NetworkConnectionError
from pip._internal.models.installation_report import InstallationReport

to_dict = getattr(InstallationReport, "_install_req_to_dict", None)
if to_dict is not None:  # reports of pip before 23.3 do not mark yanked versions

    def to_dict_with_yanked(cls, ireq):
        link = ireq.link
        return {**to_dict(ireq), "is_yanked": bool(link and link.is_yanked)}

    InstallationReport._install_req_to_dict = classmethod(to_dict_with_yanked)

from pip._internal.resolution.resolvelib.candidates import RequiresPythonCandidate

set_python = RequiresPythonCandidate.__init__
python_version = tuple(int(part) for part in request["python"].split("."))


def set_target_python(self, py_version_info):  # 'pip install' compares Requires-Python with the Python of the host
    set_python(self, py_version_info or python_version)


RequiresPythonCandidate.__init__ = set_target_python

TARGET = [
    f"--platform={request['platform']}",
    f"--python-version={request['python']}",
    "--implementation=cp",
    f"--abi=cp{request['python'].replace('.', '')}",
    "--abi=none",
    "--abi=abi3",
    "--only-binary=:all:",
]


def run(*arguments):
    """Runs a command of pip and returns true if it succeeds."""
    return main(["-vvv", "--no-input", "--disable-pip-version-check", *arguments]) == 0


def index_options():
    options = [f"--find-links={link}" for link in request.get("findLinks", [])]
    if request.get("index"):
        options.append(f"--index-url={request['index']}")
    return options


def resolve():
    folder = request["folder"]
    report = os.path.join(folder, "report.json")
    constraints = os.path.join(folder, "constraints.txt")
    with open(constraints, "w", encoding="utf-8") as file:
        file.write("\n".join(request.get("constraints", [])))
    target = os.path.join(folder, "target")
    if not run(
        "install", "--dry-run", "--quiet", f"--report={report}", f"--target={target}", f"--constraint={constraints}",
        *TARGET, *index_options(), "--", *request["requirements"],
    ):
        return write(failure=failure())
    with open(report, encoding="utf-8") as file:
        installs = json.load(file)["install"]
    extras = {}
    for text in [*request["requirements"], *(r for i in installs for r in i["metadata"].get("requires_dist", []))]:
        needed = Requirement(text)
        extras.setdefault(canonicalize_name(needed.name), set()).update(needed.extras)
    write(packages=[package(install, extras) for install in installs])


def package(install, extras):
    metadata = install["metadata"]
    name = canonicalize_name(metadata["name"])
    info = install["download_info"]
    hashes = info.get("archive_info", {}).get("hashes", {})
    requires = set()
    for text in metadata.get("requires_dist", []):
        needed = Requirement(text)
        if is_needed(needed, extras.get(name, ())):
            requires.add(canonicalize_name(needed.name))
    return {
        "name": name,
        "version": metadata["version"],
        "file": unquote(info["url"].rsplit("/", 1)[-1]),
        "sha256": hashes.get("sha256"),
        "requires": sorted(requires),
        "yanked": bool(install.get("is_yanked")),
    }


def is_needed(requirement, extras):
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def download():
    requirements = os.path.join(request["folder"], "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        for name, version, digest in request["files"]:
            file.write(f"{name}=={version} --hash=sha256:{digest}\n")
    ok = run(
        "download", "--no-deps", "--require-hashes", f"--dest={request['folder']}", f"--requirement={requirements}",
        *TARGET, *index_options(),
    )
    write(**({"downloaded": True} if ok else {"failure": failure()}))


def failure():
    """Returns the reason for which the last command of pip failed."""
    error = errors[-1] if errors else None
    if isinstance(error, AddressRefused):
        requirement = error.requirement
        return {
            "kind": "address",
            "requirement": f"{requirement.name} @ {requirement.url}",
            "package": canonicalize_name(requirement.name),
            "neededBy": error.parent,
            "found": None,
        }
    if isinstance(error, (HashError, HashErrors)):
        wrong = [item.req for item in getattr(error, "errors", [error]) if item.req is not None]
        return {"kind": "hash", "package": canonicalize_name(wrong[0].name) if wrong else None}
    causes = list(getattr(error and error.__cause__, "causes", []))
    if isinstance(error, NetworkConnectionError) or unreachable or is_offline(error):
        address = getattr(getattr(error, "request", None), "url", None)
        return {"kind": "offline", "address": unreachable[0] if unreachable else address}
    if lacking:
        return missing(next(iter(lacking.values())))
    if len(causes) == 1:
        return missing(causes)
    if causes:
        return {"kind": "conflict", "causes": [describe(cause) for cause in causes]}
    return {"kind": "other", "message": str(error).splitlines()[0] if error else "pip gave no reason"}


def missing(causes):
    described = [{**describe(cause), "source": find_source(cause[0])} for cause in causes]
    return {"kind": "missing", "causes": described}


def skipped_files(project):
    """Returns the files of other platforms whose names begin as a project's do. There are thousands for some projects."""
    if len(filenames) < len(unusable):
        filenames.extend((getattr(link, "filename", ""), link) for link in unusable[len(filenames) :])
    start = project.partition("-")[0]
    return [(filename, link) for filename, link in filenames if filename.lower().startswith(start)]


def find_source(requirement):
    """Returns the newest source distribution that meets a requirement; `None` if there is none."""
    wanted = requirement.get_candidate_lookup()[1]
    project = canonicalize_name(requirement.project_name)
    best = None
    for filename, link in skipped_files(project):
        try:
            name, version = parse_sdist_filename(filename)
            fits = SpecifierSet(link.requires_python or "").contains(request["python"], prereleases=True)
        except (AttributeError, InvalidSdistFilename, InvalidSpecifier, InvalidVersion):
            continue
        if name != project or not fits or link.is_yanked or wanted and not wanted.specifier.contains(version):
            continue
        if best is None or version > best[0]:
            best = version, link
    if best is None or best[1].hash_name != "sha256" or best[1].scheme not in ("http", "https"):
        return None
    link = best[1]
    return {"file": link.filename, "url": link.url_without_fragment, "sha256": link.hash}


def download_source():
    """Downloads a source distribution as pip would, and only reads the bytes."""
    command = create_command("download")
    options, _ = command.parse_args(["--no-input", *index_options()])
    with command.main_context():
        write(source=fetch(command.get_default_session(options), **request["source"]))


def fetch(session, url, sha256, target, maxBytes):
    """Writes a file with a hash; returns false if the server has no such file."""
    with session.get(url, headers={"Accept-Encoding": "identity"}, stream=True) as response:
        if not response.ok or int(response.headers.get("content-length", 0)) > maxBytes:
            return False
        contents = bytearray()
        for chunk in response.iter_content(65536):
            contents += chunk
            if len(contents) > maxBytes:
                return False
    if hashlib.sha256(contents).hexdigest() != sha256:
        return False
    with open(target, "wb") as file:
        file.write(contents)
    return True


def is_offline(error):
    from pip._vendor.requests.exceptions import ConnectionError, Timeout

    return isinstance(error, (ConnectionError, Timeout))


def describe(cause):
    requirement, parent = cause
    project = canonicalize_name(requirement.project_name)
    names = [filename for filename, _ in skipped_files(project)]
    files = [name for name in names if canonicalize_name(name.split("-")[0]) == project]
    return {
        "requirement": requirement.format_for_error(),
        "package": project,
        "neededBy": f"{parent.name} {parent.version}" if parent is not None else None,
        "found": next((file for file in reversed(files) if file.endswith(".whl")), None),
    }


sys.addaudithook(refuse_programs)
try:
    {"resolve": resolve, "download": download, "source": download_source}[request["command"]]()
except Exception as error:  # another pip than this script knows
    write(failure={"kind": "other", "message": f"{type(error).__name__}: {error}"})
