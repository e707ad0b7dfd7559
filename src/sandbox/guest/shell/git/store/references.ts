import { bytesOf, type CommandFiles, statusOf, textOf } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";
import { readSignature, type Signature, signatureText } from "./commit_object.ts";

const NO_ID = "0".repeat(40);
const MAX_LINKS = 5;

/** An entry of a log of a reference, the newest first. */
export interface LogEntry {
  readonly from: string;
  readonly to: string;
  readonly who: Signature;
  readonly message: string;
}

/** How a reference changes. */
export interface ReferenceChange {
  readonly who: Signature;
  /** Text of the log. */
  readonly message: string;
}

/** Branches, tags and other names of a repository, with their logs. */
export class References {
  readonly #files: CommandFiles;
  readonly #folder: string;

  constructor(files: CommandFiles, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** Returns what a reference holds: a hash, or the name of another reference. */
  raw(name: string): string | undefined {
    const path = `${this.#folder}/${name}`;
    if (statusOf(this.#files, path)?.kind === "file") return textOf(this.#files.read(path)).trim();
    return this.#packed().get(name);
  }

  /** Returns the hash of a reference. */
  resolve(name: string): string | undefined {
    let at = name;
    for (let link = 0; link < MAX_LINKS; link++) {
      const value = this.raw(at);
      if (value === undefined) return undefined;
      if (!value.startsWith("ref: ")) return /^[0-9a-f]{40}$/.test(value) ? value : undefined;
      at = value.slice("ref: ".length).trim();
    }
    return undefined;
  }

  /** Returns the reference that `HEAD` names, or `undefined` if it holds a hash. */
  headTarget(): string | undefined {
    const value = this.raw("HEAD");
    return value?.startsWith("ref: ") ? value.slice("ref: ".length).trim() : undefined;
  }

  /** Returns the name of the current branch. */
  branch(): string | undefined {
    const target = this.headTarget();
    return target?.startsWith("refs/heads/") ? target.slice("refs/heads/".length) : undefined;
  }

  /** Returns the names under a prefix such as `refs/heads/`, with their hashes, in order. */
  list(prefix: string): Map<string, string> {
    const found = new Map<string, string>();
    for (const [name, id] of this.#packed()) if (name.startsWith(prefix)) found.set(name, id);
    const visit = (folder: string) => {
      const path = `${this.#folder}/${folder.replace(/\/$/, "")}`;
      if (statusOf(this.#files, path)?.kind !== "directory") return;
      for (const name of this.#files.names(path)) {
        const reference = folder + name;
        const kind = statusOf(this.#files, `${this.#folder}/${reference}`)?.kind;
        if (kind === "directory") visit(`${reference}/`);
        else {
          const id = this.resolve(reference);
          if (id !== undefined) found.set(reference, id);
        }
      }
    };
    visit(prefix);
    return new Map([...found].sort(([a], [b]) => a < b ? -1 : 1));
  }

  /** Sets a reference, and that which `HEAD` names, with entries of their logs. */
  update(name: string, id: string, change?: ReferenceChange): void {
    const target = name === "HEAD" ? this.headTarget() ?? "HEAD" : name;
    const from = this.resolve(target) ?? NO_ID;
    this.#requireNoFolder(target);
    this.#write(target, `${id}\n`);
    if (!change) return;
    if (target !== "HEAD") this.#log(target, { from, to: id, ...change });
    if (target === "HEAD" || target === this.headTarget()) this.#log("HEAD", { from, to: id, ...change });
  }

  /** Makes `HEAD` name a reference, or a hash. */
  setHead(value: { readonly reference: string } | { readonly id: string }, change?: ReferenceChange): void {
    const from = this.resolve("HEAD") ?? NO_ID;
    this.#write("HEAD", "reference" in value ? `ref: ${value.reference}\n` : `${value.id}\n`);
    const to = this.resolve("HEAD");
    if (change && to !== undefined) this.#log("HEAD", { from, to, ...change });
  }

  /** Makes a reference name another reference. */
  setSymbolic(name: string, target: string): void {
    this.#write(name, `ref: ${target}\n`);
  }

  /** Removes a reference with its log. Returns whether it was there. */
  remove(name: string): boolean {
    const existed = this.raw(name) !== undefined;
    for (const path of [`${this.#folder}/${name}`, `${this.#folder}/logs/${name}`]) {
      if (!statusOf(this.#files, path)) continue;
      this.#files.removeFile(path);
      this.#removeFolders(path);
    }
    const packed = `${this.#folder}/packed-refs`;
    if (this.#packed().has(name)) {
      const lines = textOf(this.#files.read(packed)).split("\n");
      const at = lines.findIndex((line) => line.slice(41) === name);
      lines.splice(at, lines[at + 1]?.startsWith("^") ? 2 : 1);
      this.#files.write(packed, bytesOf(lines.join("\n")));
    }
    return existed;
  }

  /** Returns the log of a reference, the newest entry first. */
  log(name: string): LogEntry[] {
    return this.#logLines(name).map((line) => {
      const [head = "", message = ""] = [line.split("\t", 1)[0], line.slice(line.indexOf("\t") + 1)];
      return {
        from: head.slice(0, 40),
        to: head.slice(41, 81),
        who: readSignature(head.slice(82)),
        message: line.includes("\t") ? message : "",
      };
    }).reverse();
  }

  /** Returns the switches of branches that the log of `HEAD` has, the newest first. */
  switches(): { from: string; target: string; id: string }[] {
    return this.#logLines("HEAD").toReversed().flatMap((line) => {
      const [, from, target] = /\tcheckout: moving from (.*) to (.*)$/.exec(line) ?? [];
      return from === undefined || target === undefined ? [] : [{ from, target, id: line.slice(41, 81) }];
    });
  }

  /** Replaces the log of a reference, the newest entry first. */
  setLog(name: string, entries: readonly LogEntry[]): void {
    const text = entries.toReversed().map(logLine).join("");
    this.#files.write(`${this.#folder}/logs/${name}`, bytesOf(text));
  }

  /** Renames a branch with its log. */
  rename(from: string, to: string, change: ReferenceChange): void {
    const id = this.resolve(from);
    const entries = this.log(from);
    const isHead = this.headTarget() === from;
    if (id !== undefined) {
      this.remove(from);
      this.#requireNoFolder(to);
      this.#write(to, `${id}\n`);
      this.#makeFolders(`${this.#folder}/logs/${to}`);
      this.setLog(to, [{ from: id, to: id, ...change }, ...entries]);
    }
    if (isHead) {
      this.#write("HEAD", `ref: ${to}\n`);
      if (id !== undefined) this.#log("HEAD", { from: id, to: id, ...change });
    }
  }

  #logLines(name: string): string[] {
    const path = `${this.#folder}/logs/${name}`;
    if (statusOf(this.#files, path)?.kind !== "file") return [];
    return textOf(this.#files.read(path)).split("\n").filter((line) => line !== "");
  }

  #log(name: string, entry: LogEntry): void {
    const path = `${this.#folder}/logs/${name}`;
    this.#makeFolders(path);
    const old = statusOf(this.#files, path) ? textOf(this.#files.read(path)) : "";
    this.#files.write(path, bytesOf(old + logLine(entry)));
  }

  #write(name: string, text: string): void {
    const path = `${this.#folder}/${name}`;
    this.#makeFolders(path);
    this.#files.write(path, bytesOf(text));
  }

  #makeFolders(path: string): void {
    const parts = path.slice(this.#folder.length + 1).split("/").slice(0, -1);
    let at = this.#folder;
    for (const part of parts) {
      at += `/${part}`;
      const kind = statusOf(this.#files, at)?.kind;
      if (kind === undefined) this.#files.makeDirectory(at);
      else if (kind !== "directory") {
        const name = at.slice(this.#folder.length + 1);
        const wanted = path.slice(this.#folder.length + 1);
        fatal(`cannot lock ref '${wanted}': '${name}' exists; cannot create '${wanted}'`);
      }
    }
  }

  #requireNoFolder(name: string): void {
    const [other] = this.list(`${name}/`).keys();
    if (other !== undefined) fatal(`cannot lock ref '${name}': '${other}' exists; cannot create '${name}'`);
    this.#removeEmptyFolder(`${this.#folder}/${name}`);
    this.#removeEmptyFolder(`${this.#folder}/logs/${name}`);
  }

  #removeEmptyFolder(path: string): void {
    if (statusOf(this.#files, path)?.kind !== "directory") return;
    for (const name of this.#files.names(path)) this.#removeEmptyFolder(`${path}/${name}`);
    if (this.#files.names(path).length === 0) this.#files.removeDirectory(path);
  }

  /** Removes the folders above a removed file that are empty, up to `refs/heads` and the like. */
  #removeFolders(path: string): void {
    const parts = path.slice(this.#folder.length + 1).split("/");
    const kept = parts[0] === "logs" ? 3 : 2;
    for (let length = parts.length - 1; length > kept; length--) {
      const folder = `${this.#folder}/${parts.slice(0, length).join("/")}`;
      if (this.#files.names(folder).length > 0) return;
      this.#files.removeDirectory(folder);
    }
  }

  #packed(): Map<string, string> {
    const path = `${this.#folder}/packed-refs`;
    if (!statusOf(this.#files, path)) return new Map();
    const lines = textOf(this.#files.read(path)).split("\n").filter((line) => /^[0-9a-f]{40} /.test(line));
    return new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)]));
  }
}

function logLine({ from, to, who, message }: LogEntry): string {
  return `${from} ${to} ${signatureText(who)}\t${message.replaceAll("\n", " ")}\n`;
}

/** True if a name of a branch or a tag is allowed. */
export function isReferenceName(name: string): boolean {
  return !/^-|^@$|^\/|\/$|\/\/|\.\.|@\{|[\0-\x20\x7f~^:?*[\\]|\.$|\.lock(?:\/|$)|(?:^|\/)\./.test(name) &&
    name !== "";
}
