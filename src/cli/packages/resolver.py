"""Chooses packages with resolvelib. Runs in a sandbox, whose markers and tags are those that packages must fit.

The host gives pages of the package index and metadata of wheels. It checks hashes, and it downloads nothing else.
"""

import json
from email import message_from_string
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import sys_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion
from paddock import tools
from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, ResolutionTooDeep, Resolver
from resolvelib.structs import RequirementInformation

MAX_ROUNDS = 20_000
MAX_LACKING = 2  # versions that need a package without a wheel: older ones follow, and each takes a request
RANKS = {tag: rank for rank, tag in enumerate(sys_tags())}
PYTHON = "3.14"


class Links(HTMLParser):
    """Collects the links of a page in the form of PEP 503."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag != "a" or not values.get("href"):
            return
        url, fragment = urldefrag(urljoin(self.base, values["href"]))
        self.found.append({
            "url": url,
            "file": unquote(url.rsplit("/", 1)[-1]),
            "sha256": fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None,
            "python": values.get("data-requires-python") or "",
            "yanked": "data-yanked" in values,
            "metadata": any(name in values for name in ("data-core-metadata", "data-dist-info-metadata")),
        })


class Candidate:
    """A version of a package, with the extras that are wanted."""

    def __init__(self, name, version, link, extras=()):
        self.name, self.version, self.link, self.extras = name, version, link, frozenset(extras)

    def __str__(self):
        return f"{self.name} {self.version}"


class AddressRefused(Exception):
    """A package needs another one from an address. The host downloads files of the index only."""

    def __init__(self, parent, requirement):
        super().__init__(f"{parent} needs {requirement}")
        self.parent, self.requirement = parent, requirement


class WheelsMissing(Exception):
    """Versions need packages of which the index has no wheel that the target can use, in any version."""


class Provider(AbstractProvider):
    def __init__(self, request):
        self.links = request["links"]
        self.constraints = {}
        for text in request["constraints"]:
            constraint = Requirement(text)
            self.constraints[canonicalize_name(constraint.name)] = constraint.specifier
        self.releases = {}  # by package: versions and their best wheels, newest first
        self.unusable = {}  # by package: a wheel of another platform
        self.sources = {}  # by package: versions and their source distributions
        self.metadata = {}
        self.lacking = {}  # by version that needs packages without a wheel: these requirements, with the version

    def identify(self, requirement_or_candidate):
        item = requirement_or_candidate
        return canonicalize_name(item.name), frozenset(item.extras)

    def get_preference(self, identifier, resolutions, candidates, information, backtrack_causes):
        wanted = [info.requirement for info in information[identifier]]
        is_pinned = any(spec.operator == "==" for requirement in wanted for spec in requirement.specifier)
        return not is_pinned, identifier[0], sorted(identifier[1])

    def find_matches(self, identifier, requirements, incompatibilities):
        name, extras = identifier
        wanted = SpecifierSet()
        for requirement in requirements[identifier]:
            wanted &= requirement.specifier
        wanted &= self.constraints.get(name, SpecifierSet())
        is_exact = any(spec.operator in ("==", "===") for spec in wanted)
        excluded = {candidate.version for candidate in incompatibilities[identifier]}
        releases = self.read_releases(name)
        usable = [version for version, link in releases.items() if is_exact or not link["yanked"]]
        return [
            Candidate(name, version, releases[version], extras)
            for version in wanted.filter(usable)
            if version not in excluded
        ]

    def is_satisfied_by(self, requirement, candidate):
        return requirement.specifier.contains(candidate.version, prereleases=True)

    def get_dependencies(self, candidate):
        if candidate.extras:
            yield Requirement(f"{candidate.name}=={candidate.version}")
        needed = []
        for requirement in self.read_requirements(candidate):
            if any(is_needed(requirement, extra) for extra in candidate.extras or ("",)):
                if requirement.url is not None:
                    raise AddressRefused(candidate, requirement)
                needed.append(requirement)
        self.require_wheels(candidate, needed)
        yield from needed

    def require_wheels(self, candidate, needed):
        self.prefetch_pages(needed)
        causes = [
            RequirementInformation(requirement, candidate)
            for requirement in needed
            if not self.read_releases(canonicalize_name(requirement.name))
        ]
        if causes:
            self.lacking[str(candidate)] = causes
            if len(self.lacking) == MAX_LACKING:
                raise WheelsMissing(candidate)

    def read_requirements(self, candidate):
        link = candidate.link
        if link["url"] not in self.metadata:
            text = tools.metadata(url=link["url"], sha256=link["sha256"] or "", separate=link.get("metadata", False))
            headers = message_from_string(text)
            self.metadata[link["url"]] = [Requirement(line) for line in headers.get_all("Requires-Dist", [])]
        return self.metadata[link["url"]]

    def prefetch_pages(self, requirements):
        """Lets the host read pages at the same time, since each takes a request."""
        names = {canonicalize_name(requirement.name) for requirement in requirements} - self.releases.keys()
        if len(names) > 1:
            tools.prefetch(projects=sorted(names))

    def read_releases(self, name):
        if name not in self.releases:
            page = tools.page(project=name)
            links = Links(page["url"])
            links.feed(page["html"])
            self.releases[name] = self.choose_wheels(name, [*self.links, *links.found])
        return self.releases[name]

    def choose_wheels(self, name, links):
        best = {}
        self.sources[name] = dict(filter(None, (source_of(name, link) for link in links)))
        for link in links:
            try:
                project, version, build, tags = parse_wheel_filename(link["file"])
                if project != name or "/" in link["file"]:
                    continue
                fits_python = SpecifierSet(link.get("python", "")).contains(PYTHON)
            except (InvalidWheelFilename, InvalidVersion, InvalidSpecifier):
                continue
            rank = min((RANKS[tag] for tag in tags if tag in RANKS), default=None)
            if rank is None or not fits_python:
                self.unusable[name] = link["file"]
            elif version not in best or (rank, build) < best[version][0]:
                best[version] = (rank, build), {"yanked": False, **link}
        return {version: best[version][1] for version in sorted(best, reverse=True)}


def source_of(name, link):
    """Returns the version and the link of a source distribution that fits; `None` for another file."""
    try:
        project, version = parse_sdist_filename(link["file"])
        fits_python = SpecifierSet(link.get("python", "")).contains(PYTHON)
    except (InvalidSdistFilename, InvalidVersion, InvalidSpecifier):
        return None
    return (version, link) if project == name and fits_python and not link.get("yanked") else None


def is_needed(requirement, extra):
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def resolve(request):
    provider = Provider(request)
    roots = [Requirement(text) for text in request["requirements"]]
    roots = [root for root in roots if is_needed(root, "")]
    provider.prefetch_pages(roots)
    try:
        result = Resolver(provider, BaseReporter()).resolve(roots, max_rounds=MAX_ROUNDS)
    except ResolutionImpossible as error:
        return {"failure": describe_failure(provider, error.causes)}
    except WheelsMissing:
        return {"failure": describe_failure(provider, ())}
    except AddressRefused as error:
        return {"failure": {
            "kind": "address",
            "requirement": f"{error.requirement.name} @ {error.requirement.url}",
            "package": canonicalize_name(error.requirement.name),
            "neededBy": str(error.parent),
            "found": None,
        }}
    except ResolutionTooDeep:
        return {"failure": {"kind": "other", "message": f"there is no solution in {MAX_ROUNDS} rounds"}}
    packages = {}
    for candidate in result.mapping.values():
        needed = {canonicalize_name(requirement.name) for requirement in provider.get_dependencies(candidate)}
        found = packages.setdefault(candidate.name, {
            "name": candidate.name,
            "version": str(candidate.version),
            "file": candidate.link["file"],
            "sha256": candidate.link["sha256"],
            "url": candidate.link["url"],
            "yanked": candidate.link["yanked"],
            "requires": [],
        })
        found["requires"] = sorted({*found["requires"], *needed} - {candidate.name})
    return {"packages": list(packages.values())}


def describe_failure(provider, causes):
    newest = next(iter(provider.lacking.values()), None)
    causes = newest or causes
    if newest is not None or len(causes) == 1:
        described = [{**describe(provider, cause), "source": find_source(provider, cause)} for cause in causes]
        return {"kind": "missing", "causes": described}
    return {"kind": "conflict", "causes": [describe(provider, cause) for cause in causes]}


def find_source(provider, cause):
    """Returns the newest source distribution that meets a requirement; `None` if there is none."""
    versions = provider.sources.get(canonicalize_name(cause.requirement.name), {})
    fitting = list(cause.requirement.specifier.filter(versions))
    if not fitting:
        return None
    link = versions[max(fitting)]
    return {"file": link["file"], "url": link["url"], "sha256": link["sha256"] or ""}


def describe(provider, cause):
    name = canonicalize_name(cause.requirement.name)
    return {
        "requirement": str(cause.requirement).partition(";")[0].strip(),
        "package": name,
        "neededBy": str(cause.parent) if cause.parent is not None else None,
        "found": provider.unusable.get(name),
    }


print(json.dumps(resolve(tools.request())))
