/**
 * Packages of Debian and Ubuntu that the sandbox stands in for, with the commands that a script may expect of each. The
 * commands are looked up in the sandbox before a task runs.
 */
export const SYSTEM_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "apt-transport-https": [],
  "apt-utils": [],
  "bash": ["bash"],
  "bc": ["bc"],
  "bsdmainutils": ["column"],
  "bsdextrautils": ["column"],
  "bzip2": ["bzip2"],
  "ca-certificates": [],
  "coreutils": ["ls", "sort", "sha256sum"],
  "curl": ["curl"],
  "diffutils": ["diff", "cmp"],
  "file": ["file"],
  "findutils": ["find", "xargs"],
  "gawk": ["awk"],
  "git": ["git"],
  "gnupg": [],
  "grep": ["grep"],
  "gzip": ["gzip"],
  "jq": ["jq"],
  "less": [],
  "locales": [],
  "mawk": ["awk"],
  "nano": [],
  "patch": ["patch"],
  "procps": ["ps", "pgrep"],
  "python-is-python3": ["python"],
  "python3": ["python3"],
  "python3-full": ["python3"],
  "python3-minimal": ["python3"],
  "python3-pip": ["pip3"],
  "python3-pytest": ["pytest"],
  "python3-venv": ["python3"],
  "ripgrep": ["rg"],
  "sed": ["sed"],
  "software-properties-common": [],
  "sudo": [],
  "tar": ["tar"],
  "tmux": [],
  "asciinema": [],
  "tree": ["tree"],
  "tzdata": [],
  "unzip": ["unzip"],
  "util-linux": [],
  "vim": [],
  "xxd": ["xxd"],
  "xz-utils": ["xz"],
  "zip": ["zip"],
};

/** Python packages that a system package brings. */
export const PYTHON_OF_SYSTEM: Readonly<Record<string, string>> = { "python3-pytest": "pytest" };

/** Address of the installer of uv, whose commands `uv` and `uvx` every session has. */
export const UV_INSTALLER = /^https:\/\/astral\.sh\/uv(?:\/[\w.-]+)*\/install\.sh$/;

/** Images whose files `/uv` and `/uvx` a Dockerfile may copy. */
export const UV_IMAGE = /^ghcr\.io\/astral-sh\/uv(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/;
