import type { ScriptCommand } from "./script_commands.ts";
import { PYTHON_OF_SYSTEM, SYSTEM_PACKAGES, UV_INSTALLER } from "./system_packages.ts";

/** What the commands of a script need. */
export interface ScriptNeeds {
  /** Python packages, as requirements by name. */
  readonly requirements: readonly string[];
  /** Commands that the sandbox must have. */
  readonly commands: readonly string[];
  /** Reasons why a command cannot run here, one phrase each. */
  readonly faults: readonly string[];
}

/** Options of {@linkcode scriptNeeds}. */
export interface ScriptNeedsOptions {
  /** Returns the text of a file of the image, for `pip install -r`. Undefined if the image has no such file. */
  readonly readText: (path: string) => string | undefined;
}

type Words = readonly (string | undefined)[];

/** Commands whose arguments are a command. */
const PREFIXES: readonly string[] = ["sudo", "command", "exec", "time", "nice", "nohup", "env"];
/** Python tools that need no package here: uv and pip have stand-ins, and wheels are not built. */
const TOOLS: readonly string[] = ["pip", "uv", "wheel"];
const WITH_VALUE: Readonly<Record<string, readonly string[]>> = {
  apt: ["-o", "-t", "-c", "--target-release", "--option"],
  pip: [
    "-c",
    "--constraint",
    "-t",
    "--target",
    "-p",
    "--python",
    "--python-version",
    "--root",
    "--cache-dir",
  ],
  uv: ["-p", "--python", "--project", "--directory", "--index", "--index-strategy", "--cache-dir"],
};
const REQUIREMENT = /^[A-Za-z0-9][\w.-]*(?:\[[\w, .-]*\])?\s*(?:[<>=!~][\w .,<>=!~*+-]*)?$/;

/** Returns what the commands of a script need: known installs as packages, and all other commands by their names. */
export function scriptNeeds(commands: readonly ScriptCommand[], options: ScriptNeedsOptions): ScriptNeeds {
  const reader = new NeedsReader(options);
  for (const { words } of commands) reader.read(words);
  return reader.needs();
}

class NeedsReader {
  readonly #options: ScriptNeedsOptions;
  readonly #requirements = new Set<string>();
  readonly #commands = new Set<string>();
  readonly #faults = new Set<string>();

  constructor(options: ScriptNeedsOptions) {
    this.#options = options;
  }

  needs(): ScriptNeeds {
    return {
      requirements: [...this.#requirements],
      commands: [...this.#commands],
      faults: [...this.#faults],
    };
  }

  read(words: Words): void {
    const [first, ...args] = words;
    if (first === undefined || first === "") return; // a name that the script computes
    const name = first.startsWith("/") ? first.slice(first.lastIndexOf("/") + 1) : first;
    if (PREFIXES.includes(name)) this.#readPrefixed(name, args);
    else if (name === "apt-get" || name === "apt") this.#readApt(args);
    else if (/^pip3?$/.test(name)) this.#readPip(args);
    else if (/^python3?$/.test(name)) this.#readPython(name, args);
    else if (name === "uv") this.#readUv(args);
    else if (name === "uvx") this.#readUvRun(args, { isTool: true });
    else if (name === "curl" || name === "wget") this.#readDownload(name, args);
    else if (name === "git" && args[0] === "clone") this.#readClone(args);
    else if (!first.includes("/")) this.#commands.add(name);
  }

  #readPrefixed(name: string, args: Words): void {
    if (name === "sudo") this.#commands.add(name);
    const start = args.findIndex((word) => word === undefined || !/^-|^\w+=/.test(word));
    if (start !== -1 && !args.includes("-v")) this.read(args.slice(start));
  }

  #readApt(args: Words): void {
    const [action, ...names] = operands(args, WITH_VALUE.apt);
    if (action !== "install") return;
    for (const word of names) {
      const name = word?.replace(/[=:/].*$/, "");
      if (name === undefined) this.#faults.add("'apt-get install' of a variable is not known before the run");
      else if (!Object.hasOwn(SYSTEM_PACKAGES, name)) {
        this.#faults.add(`the sandbox has nothing for the system package '${name}'`);
      } else {
        SYSTEM_PACKAGES[name]?.forEach((command) => this.#commands.add(command));
        const python = PYTHON_OF_SYSTEM[name];
        if (python !== undefined) this.#requirements.add(python);
      }
    }
  }

  #readPip(args: Words): void {
    const [action] = operands(args, WITH_VALUE.pip);
    if (action !== "install") return;
    this.#readRequirements(args.slice(args.indexOf("install") + 1), WITH_VALUE.pip);
  }

  #readRequirements(args: Words, withValue: readonly string[] = []): void {
    for (let at = 0; at < args.length; at++) {
      const word = args[at];
      if (word === undefined) this.#faults.add("a Python package in a variable is not known before the run");
      else if (word === "-r" || word === "--requirement") this.#readFile(args[++at]);
      else if (word === "-e" || word === "--editable") {
        this.#faults.add(`'pip install -e ${args[++at]}' builds a package`);
      } else if (/^--(?:extra-)?index-url$|^-[if]$|^--find-links$/.test(word)) {
        this.#faults.add(`'${word}' names another package index`);
        at++;
      } else if (withValue.includes(word)) at++;
      else if (!word.startsWith("-")) this.#addRequirement(word);
    }
  }

  #readFile(path: string | undefined): void {
    const text = path === undefined ? undefined : this.#options.readText(path);
    if (text === undefined) {
      this.#faults.add(`the requirements file '${path ?? "of a variable"}' is not a file of the image`);
      return;
    }
    for (const line of text.split(/\r?\n/)) {
      const requirement = line.replace(/(?:^|\s)#.*$/, "").trim();
      if (requirement.startsWith("-")) {
        this.#faults.add(`'${path}' has the option '${requirement}' beside requirements`);
      } else if (requirement !== "") this.#addRequirement(requirement);
    }
  }

  #addRequirement(text: string): void {
    const [plain = ""] = text.split(";");
    const requirement = plain.trim();
    const [name = ""] = /^[\w.-]+/.exec(requirement) ?? [];
    if (TOOLS.includes(name)) return;
    if (REQUIREMENT.test(requirement)) this.#requirements.add(requirement.replaceAll(/\s+/g, ""));
    else this.#faults.add(`'${text.slice(0, 80)}' is no requirement of a package index by name`);
  }

  #readPython(name: string, args: Words): void {
    this.#commands.add(name);
    if (args[0] !== "-m") return;
    if (args[1] === "pip") this.#readPip(args.slice(2));
    else if (args[1] === "pytest") this.#commands.add("pytest");
  }

  #readUv(args: Words): void {
    const [action, ...rest] = args;
    if (action === "pip") this.#readPip(rest);
    else if (action === "add") this.#readRequirements(rest, WITH_VALUE.uv);
    else if (action === "run") this.#readUvRun(rest, { isTool: false });
    else if (action === "tool" && rest[0] === "run") this.#readUvRun(rest.slice(1), { isTool: true });
    else if (action === "tool" && rest[0] === "install") this.#readRequirements(rest.slice(1), WITH_VALUE.uv);
    else if (!UV_ACTIONS.includes(action ?? "")) {
      this.#faults.add(`the sandbox has no 'uv ${action ?? "of a variable"}'`);
    }
  }

  /** Reads `uvx` and `uv run`: options, packages, and a command. */
  #readUvRun(args: Words, { isTool }: { isTool: boolean }): void {
    let hasSource = false;
    for (let at = 0; at < args.length; at++) {
      const word = args[at];
      if (word === undefined) return void this.#faults.add("a command of uv in a variable is not known");
      const [option = "", inline] = word.startsWith("--") ? word.split(/=(.*)/s, 2) : [word];
      const value = () => inline ?? args[++at];
      if (option === "--with" || option === "--from" || option === "-w") {
        hasSource ||= option === "--from";
        this.#readRequirements(value()?.split(",") ?? [undefined]);
      } else if (option === "--with-requirements") this.#readFile(value());
      else if (WITH_VALUE.uv?.includes(option)) value();
      else if (!word.startsWith("-")) {
        const [name = "", version] = word.split("@");
        if (isTool && !hasSource) {
          const isPinned = version === undefined || version === "latest";
          const known = [...this.#requirements].some((each) => /^[\w.-]+/.exec(each)?.[0] === name);
          if (!known) this.#addRequirement(isPinned ? name : `${name}==${version}`);
        }
        return this.read([name, ...args.slice(at + 1)]);
      }
    }
  }

  #readDownload(name: string, args: Words): void {
    const urls = args.filter((word) => word === undefined || /^[a-z]+:\/\//.test(word));
    for (const url of urls) {
      if (url === undefined) this.#faults.add(`'${name}' of a variable is not known before the run`);
      else if (/^http:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)[:/]/.test(url)) this.#commands.add(name);
      else if (name !== "curl" || !UV_INSTALLER.test(url)) {
        this.#faults.add(`a sandbox has no network for '${name} ${url.slice(0, 80)}'`);
      }
    }
  }

  #readClone(args: Words): void {
    this.#commands.add("git");
    const [, source] = operands(args, ["-b", "--branch", "--depth"]);
    if (source === undefined || /^[\w+.-]+:\/\/|^[\w.-]+@/.test(source)) {
      this.#faults.add(`a sandbox has no network for 'git clone ${source?.slice(0, 80) ?? "of a variable"}'`);
    }
  }
}

/** Actions of uv that the stand-in has, beside the actions that install or run. */
const UV_ACTIONS: readonly string[] = [
  "init",
  "venv",
  "sync",
  "lock",
  "python",
  "self",
  "cache",
  "--version",
];

/** Returns the words that are no options and no values of options. */
function operands(args: Words, withValue: readonly string[] = []): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word !== undefined && withValue.includes(word)) at++;
    else if (word === undefined || !word.startsWith("-")) found.push(word);
  }
  return found;
}
