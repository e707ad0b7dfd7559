import { walk } from "./files.ts";

/** A command line of a public repository. */
export interface CommandLine {
  /** Name of the source and number of the line there. */
  readonly id: string;
  /** Name of the tree of files in which the line runs. */
  readonly tree: string;
  readonly text: string;
}

/** A public repository at one commit. */
export interface Repository {
  /** `owner/name` on GitHub. */
  readonly name: string;
  readonly commit: string;
}

/** A set of command lines, which are dealt out to `parts` parts. One part runs at a time. */
interface Source {
  readonly name: string;
  readonly repository: string;
  /** Paths in the repository, as prefixes. */
  readonly paths: readonly string[];
  readonly parts: number;
  readonly read: (folder: string) => Promise<readonly Omit<CommandLine, "id">[]>;
}

export const REPOSITORIES: readonly Repository[] = [
  { name: "TellinaTool/nl2bash", commit: "466c5fe873ab08c7cc0112ea1521cc6ad9c20992" },
  { name: "gruckion/mini-swe-agent", commit: "d12a71affd95403b036b2bdbd827349b77bfffb9" },
  { name: "princeton-nlp/intercode", commit: "c3e46d827cfc9d4c704ec078f7abf9f41e3191d8" },
  { name: "oils-for-unix/oils", commit: "15de8fd779569e6e3a9f5fcbfc00e7df0ebe0380" },
];

/** Trees that the setup scripts of InterCode make, for the benchmark that NL2Bash's lines come from. */
const TESTBEDS = 4;

/** Number of parts that each source has. */
export const PARTS = 3;

/**
 * The rule by which lines are taken: each source has its lines in a fixed order. `isComparable` leaves out lines by the
 * words that they have, before anything runs. The distinct lines that remain are numbered from 0, and line `i` belongs
 * to part `i % parts`.
 *
 * | part | what the lines were used for                                             |
 * | ---- | ------------------------------------------------------------------------ |
 * | 0    | they ran while the commands of the shell were written                    |
 * | 1    | measured before any of them had run; then their differences were mended  |
 * | 2    | measured last; then their differences were mended, too                    |
 */
const SOURCES: readonly Source[] = [
  {
    name: "nl2bash",
    repository: "TellinaTool/nl2bash",
    paths: ["data/bash/all.cm"],
    parts: 5,
    read: async (folder) => {
      const lines = (await Deno.readTextFile(`${folder}/data/bash/all.cm`)).split("\n");
      return lines.map((text, index) => ({ tree: `testbed${index % TESTBEDS + 1}`, text }));
    },
  },
  {
    name: "mini-swe-agent",
    repository: "gruckion/mini-swe-agent",
    paths: ["swebench_results"],
    parts: 10,
    read: readTrajectories,
  },
  {
    name: "intercode",
    repository: "princeton-nlp/intercode",
    paths: ["data/results/bash"],
    parts: 4,
    read: readInterCode,
  },
  { name: "oils", repository: "oils-for-unix/oils", paths: ["spec"], parts: 3, read: readOils },
];

/** Where a command can begin: at the start of a line, behind an operator, a word of the grammar or `xargs`. */
const COMMAND_START = String
  .raw`(?:^|[;|&({\x60!]|\b(?:do|then|else|if|while|until|xargs(?: -\S+)*|exec|execdir|ok|time|nice|timeout \S+)\s)\s*`;
/** Programs whose results depend on the machine, on the network, on time, on a terminal or on another language. */
const OTHER_PROGRAMS =
  `ssh scp sftp rsync curl wget nc ftp telnet ping dig nslookup host hostname ifconfig ip netstat
  ss sudo su apt apt-get yum dpkg rpm brew docker service systemctl mount umount df du free top htop ps pstree pgrep
  pkill kill killall jobs fg bg disown who w last finger users uptime uname lsof strace dmesg crontab at screen tmux vi
  vim nano emacs less more man open xdg-open tty stty tput clear reset history fc bind mail convert ffmpeg gcc g++ cc
  make java javac perl ruby node npm php lua python python2 python3 pip pip3 pytest tox psql mysql sqlite3 svn hg git
  gpg openssl chown chgrp useradd usermod groups getent locale printenv ulimit iostat vmstat watch sleep date cal
  ionice renice chroot mkfs fdisk parted mkfifo ldd nm objdump strings readelf mktemp shred logger script osascript
  defaults sphinx-build pylint pyreverse`.split(/\s+/);
const STARTS_OTHER_PROGRAM = new RegExp(
  `${COMMAND_START}(?:\\w+=\\S*\\s+)*(?:\\./|/usr/bin/|/bin/)?(?:${
    OTHER_PROGRAMS.map((name) => name.replace(/[+.]/g, "\\$&")).join("|")
  })(?=$|[\\s;|&)\x60"'])`,
  "m",
);
/** Words whose values no two runs share, programs of the test suites, and paths that belong to the machine. */
const MACHINE_WORDS =
  /\$RANDOM|\$\$|\$BASHPID|\$PPID|\$SECONDS|\$EPOCH|\$HOSTNAME|\$UID|\$EUID|\$SHLVL|\$_\b|\$\{?(?:SH|OILS_VERSION|BASH_VERSION|REPO_ROOT)\b|(?:^|[\s"'=])\/(?:etc|var|usr|opt|sys|proc|boot|mnt|media|root|lib|run|srv)\b|(?:^|\s)(?:\/|~)(?:\s|$)|\/dev\/tcp|\w+\.py\b(?=[^\n]*$)(?<=(?:^|[;|&(] ?)(?:\.\/)?\S*\.py)|\b(?:argv|printenv|stdout_stderr|read_from_fd|show_fd_table)\.py/m;
/** Commands that print all variables, without arguments. */
const PRINTS_VARIABLES = /(?:^|[;|&(]\s*)(?:set|env|export|declare|typeset|readonly)(?: -p)?\s*(?:$|[;|&)])/m;

/** Whether a line can have the same result on two machines, decided by its text alone. */
export function isComparable(text: string): boolean {
  return text.trim() !== "" && text.length < 4000 && !STARTS_OTHER_PROGRAM.test(text) &&
    !MACHINE_WORDS.test(text) && !PRINTS_VARIABLES.test(text);
}

/** Reads the lines of one part of all sources from checkouts, which are folders named as `owner+name` below `folder`. */
export async function readLines(folder: string, part: number): Promise<CommandLine[]> {
  const lines: CommandLine[] = [];
  for (const { name, repository, paths, parts, read } of SOURCES) {
    const checkout = await checkOut(folder, repository, paths);
    try {
      const distinct = new Map((await read(checkout)).map((line) => [line.text, line]));
      const taken = [...distinct.values()].map((line, index) => ({ ...line, id: `${name}-${index}` }))
        .filter(({ text }) => isComparable(text))
        .filter((_, index) => index % parts === part);
      lines.push(...taken);
    } finally {
      await Deno.remove(checkout, { recursive: true });
    }
  }
  return lines;
}

/** Fetches the pinned commits of those repositories that `folder` lacks, from below a URL. */
export async function fetchRepositories(folder: string, url: string): Promise<void> {
  for (const { name, commit } of REPOSITORIES) {
    const to = `${folder}/${name.replace("/", "+")}`;
    const script = '[ -d "$1" ] || { git init -q "$1" && git -C "$1" fetch -q --depth 1 "$2" "$3"; }';
    const { success, stderr } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", to, `${url}/${name}`, commit],
      stderr: "piped",
    }).output();
    if (success) continue;
    await Deno.remove(to, { recursive: true });
    throw new Error(`Cannot fetch commit ${commit} of ${name}: ${new TextDecoder().decode(stderr).trim()}`);
  }
}

/** Writes paths of a repository's pinned commit to a temporary folder. */
export async function checkOut(folder: string, name: string, paths: readonly string[]): Promise<string> {
  const repository = REPOSITORIES.find((candidate) => candidate.name === name);
  if (!repository) throw new TypeError(`Cannot check out '${name}' as it is not in the list of repositories`);
  const from = `${folder}/${name.replace("/", "+")}`;
  const to = await Deno.makeTempDir();
  const archive = new Deno.Command("sh", {
    args: [
      "-c",
      'git -C "$1" archive "$2" -- $4 | tar x -C "$3"',
      "sh",
      from,
      repository.commit,
      to,
      paths.join(" "),
    ],
    stderr: "piped",
  });
  const { stderr } = await archive.output();
  const names = await Array.fromAsync(Deno.readDir(to));
  if (names.length === 0) {
    const found = new TextDecoder().decode(stderr).trim();
    throw new Error(
      `Cannot read ${name} as '${from}' must be a checkout with commit ${repository.commit}: ${found}`,
    );
  }
  return to;
}

/** Code blocks of the agent. Lines about Django run in a tree with Django's sources, the others in an empty one. */
async function readTrajectories(folder: string): Promise<Omit<CommandLine, "id">[]> {
  const lines: Omit<CommandLine, "id">[] = [];
  for (const path of await walk(folder)) {
    if (!path.endsWith(".traj.json")) continue;
    const tree = path.includes("/django__") ? "django" : "empty";
    const { messages } = JSON.parse(await Deno.readTextFile(`${folder}/${path}`));
    for (const { role, content } of messages) {
      if (role !== "assistant") continue;
      const blocks = String(content).matchAll(/```bash\n([\s\S]*?)\n```/g);
      lines.push(...[...blocks].map(([, text = ""]) => ({ tree, text })));
    }
  }
  return lines;
}

/** Actions of models in InterCode's bash environment. The file's name has the number of the tree. */
async function readInterCode(folder: string): Promise<Omit<CommandLine, "id">[]> {
  const lines: Omit<CommandLine, "id">[] = [];
  for (const path of await walk(folder)) {
    const number = /fs_(\d)\.json$/.exec(path)?.[1];
    if (!number) continue;
    const episodes = Object.values(JSON.parse(await Deno.readTextFile(`${folder}/${path}`)));
    for (const { turn_history } of episodes as { turn_history?: { actions?: unknown[] } }[]) {
      const actions = turn_history?.actions ?? [];
      lines.push(...actions.map((text) => ({ tree: `testbed${number}`, text: String(text) })));
    }
  }
  return lines;
}

/** Cases of the spec tests of Oils: the text between `####` and the next one, without the lines of expectations. */
async function readOils(folder: string): Promise<Omit<CommandLine, "id">[]> {
  const lines: Omit<CommandLine, "id">[] = [];
  for (const path of await walk(`${folder}/spec`)) {
    if (!/^[^/]*\.test\.sh$/.test(path) || /^(?:ysh|hay|zsh|osh|nix|interactive|ble|toysh)/.test(path)) {
      continue;
    }
    const text = await Deno.readTextFile(`${folder}/spec/${path}`);
    for (const part of text.split(/^####.*\n/m).slice(1)) {
      const code = part.replace(
        /^## (?:STDOUT|STDERR|(?:OK|BUG|N-I)[^\n]*(?:STDOUT|STDERR)):[\s\S]*?^## END.*$/gm,
        "",
      )
        .replace(/^##.*$/gm, "");
      lines.push({ tree: "empty", text: code.trim() });
    }
  }
  return lines;
}
