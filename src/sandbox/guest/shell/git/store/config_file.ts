import { bytesOf, type CommandFiles, statusOf, textOf } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";

/** A setting. `key` is `section.name` or `section.subsection.name`. */
export interface Setting {
  readonly key: string;
  /** Absent for a name without `=`, which is true. */
  readonly value: string | undefined;
}

/** A file of settings. */
export class ConfigFile {
  readonly path: string;
  readonly #files: CommandFiles;
  /** The settings, until the file is written. */
  #settings: readonly Setting[] | undefined;

  constructor(files: CommandFiles, path: string) {
    this.#files = files;
    this.path = path;
  }

  get exists(): boolean {
    return statusOf(this.#files, this.path)?.kind === "file";
  }

  settings(): readonly Setting[] {
    this.#settings ??= this.#lines().flatMap(({ setting }) => setting ? [setting] : []);
    return this.#settings;
  }

  /** Sets a key, in place of the last value if there is a value. */
  set(key: string, value: string): void {
    const lines = this.#lines();
    const line = `\t${nameOf(key)} = ${quoteValue(value)}`;
    const at = lines.findLastIndex(({ setting }) => setting?.key === key);
    if (at >= 0) return this.#write(lines.map(({ text }, index) => index === at ? line : text));
    this.#insert(lines.map(({ text, section }) => ({ text, section })), key, line);
  }

  /** Adds a further value of a key. */
  add(key: string, value: string): void {
    this.#insert(this.#lines(), key, `\t${nameOf(key)} = ${quoteValue(value)}`);
  }

  /** Removes all values of a key. Returns how many there were. */
  remove(key: string): number {
    const lines = this.#lines();
    const kept = lines.filter(({ setting }) => setting?.key !== key);
    if (kept.length < lines.length) {
      const section = sectionOf(key);
      const isEmpty = !kept.some((line) => line.section === section && line.setting);
      this.#write(kept.filter((line) => !(isEmpty && line.section === section)).map(({ text }) => text));
    }
    return lines.length - kept.length;
  }

  /** Removes a section. Returns whether it was there. */
  removeSection(name: string): boolean {
    const lines = this.#lines();
    const kept = lines.filter(({ section }) => section !== name);
    if (kept.length < lines.length) this.#write(kept.map(({ text }) => text));
    return kept.length < lines.length;
  }

  #insert(lines: readonly { text: string; section: string }[], key: string, line: string): void {
    const section = sectionOf(key);
    const at = lines.findLastIndex((other) => other.section === section);
    const texts = lines.map(({ text }) => text);
    if (at >= 0) texts.splice(at + 1, 0, line);
    else {
      const dot = section.indexOf(".");
      const [name, inner] = dot < 0 ? [section] : [section.slice(0, dot), section.slice(dot + 1)];
      const quoted = inner === undefined ? "" : ` "${inner.replace(/["\\]/g, "\\$&")}"`;
      texts.push(`[${name}${quoted}]`, line);
    }
    this.#write(texts);
  }

  #write(lines: readonly string[]): void {
    this.#settings = undefined;
    this.#files.write(this.path, bytesOf(lines.map((line) => `${line}\n`).join("")));
  }

  /**
   * Returns the lines with their sections and settings. A line that continues is a single line with the lines that
   * follow.
   */
  #lines(): { text: string; section: string; setting?: Setting }[] {
    if (!this.exists) return [];
    const source = textOf(this.#files.read(this.path)).replaceAll("\r\n", "\n");
    const texts = source.replace(/\n$/, "").split("\n");
    const lines: { text: string; section: string; setting?: Setting }[] = [];
    let section = "";
    if (source === "") return [];
    for (let at = 0; at < texts.length; at++) {
      let text = texts[at] ?? "";
      const line = at + 1;
      while (/(?:^|[^\\])(?:\\\\)*\\$/.test(text) && at + 1 < texts.length && !/^\s*[#;]/.test(text)) {
        text += `\n${texts[++at]}`;
      }
      const [head, name, quoted] = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(text) ?? [];
      let rest = text;
      if (head !== undefined && name !== undefined) {
        section = quoted === undefined
          ? name.toLowerCase()
          : `${name.toLowerCase()}.${quoted.replace(/\\(.)/g, "$1")}`;
        rest = text.slice(head.length);
      }
      if (/^\s*(?:[#;]|$)/.test(rest)) {
        lines.push({ text, section });
        continue;
      }
      const [, key, value] = /^\s*([A-Za-z][\w-]*)\s*(?:=([^]*))?$/.exec(rest) ?? [];
      if (key === undefined || section === "") fatal(`bad config line ${line} in file ${this.path}`);
      const setting = {
        key: `${section}.${key.toLowerCase()}`,
        value: value === undefined ? undefined : readValue(value),
      };
      lines.push({ text, section, setting });
    }
    return lines;
  }
}

/** Returns a key in the form in which keys are compared, or `undefined` if it is none. */
export function normalKey(key: string): string | undefined {
  const [, section, inner = "", name] = /^([A-Za-z0-9-]+)(\..*)?\.([A-Za-z][A-Za-z0-9-]*)$/s.exec(key) ?? [];
  if (section === undefined || name === undefined) return undefined;
  return `${section.toLowerCase()}${inner}.${name.toLowerCase()}`;
}

function sectionOf(key: string): string {
  return key.slice(0, key.lastIndexOf("."));
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

const VALUE_ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\n": "" };

/** Reads a value: quotes, escapes, and comments outside of quotes. */
function readValue(text: string): string {
  let value = "";
  let isQuoted = false;
  let kept = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === '"') isQuoted = !isQuoted;
    else if (sign === "\\") {
      const escaped = text.charAt(++at);
      value += VALUE_ESCAPES[escaped] ?? escaped;
      kept = value.length;
    } else if (!isQuoted && (sign === "#" || sign === ";")) break;
    else if (!isQuoted && /\s/.test(sign)) {
      if (value !== "") value += sign;
    } else {
      value += sign;
      kept = value.length;
    }
    if (isQuoted || sign === '"') kept = value.length;
  }
  return value.slice(0, kept);
}

function quoteValue(value: string): string {
  const escaped = value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return /^\s|\s$|[#;]/.test(value) ? `"${escaped}"` : escaped;
}

/** Reads a truth value, or returns `undefined` if the text is none. */
export function readBoolean(text: string | undefined): boolean | undefined {
  if (text === undefined || /^(?:true|yes|on)$/i.test(text)) return true;
  if (text === "" || /^(?:false|no|off)$/i.test(text)) return false;
  return /^-?\d+$/.test(text) ? Number(text) !== 0 : undefined;
}
