import { zoneOf } from "../../../gnu/time_zone.ts";
import { bodyOf, type Commit, type Signature, subjectOf } from "../../store/commit_object.ts";
import { fatal, refuse } from "../../store/git_error.ts";
import type { LogEntry } from "../../store/references.ts";
import type { Repository } from "../../store/repository.ts";
import { dateText } from "./date_text.ts";

/** How commits are printed. */
export interface PrettyStyle {
  /** A name such as `medium`, or a format behind `format:` or `tformat:`. */
  readonly format: string;
  readonly date: string;
  readonly isAbbreviated: boolean;
  readonly digits: number;
  /** Names of commits by their hashes, absent if they are not shown. */
  readonly decorations: ReadonlyMap<string, readonly string[]> | undefined;
  readonly showsParents: boolean;
}

const NAMED = ["oneline", "short", "medium", "full", "fuller", "raw", "email", "mboxrd", "reference"];

/** Reads a format of `--format` or `--pretty`. */
export function readFormat(text: string, repository: Pick<Repository, "config">): string {
  if (NAMED.includes(text) || /^t?format:/.test(text)) {
    return ["email", "mboxrd"].includes(text) ? refuse(`the format '${text}'`) : text;
  }
  if (text.includes("%")) return `tformat:${text}`;
  const alias = repository.config.get(`pretty.${text}`);
  return alias === undefined ? fatal(`invalid --pretty format: ${text}`) : readFormat(alias, repository);
}

/** Returns whether a format ends each commit with a line end, in place of a line end between commits. */
export function endsEach(format: string): boolean {
  return format === "oneline" || format === "reference" || format.startsWith("tformat:");
}

/** Returns a commit as a format prints it, without a line end for formats of one's own. */
export function commitText(
  commit: Commit,
  style: PrettyStyle,
  { repository, entry, mark = "" }: {
    repository: Repository;
    /** Entry of a log that the commit is printed for. */
    entry?: { readonly name: string; readonly value: LogEntry } | undefined;
    /** Sign before the hash. */
    mark?: string;
  },
): string {
  const { format, isAbbreviated } = style;
  const { objects, context } = repository;
  const short = (id: string) => objects.abbreviate(id, style.digits);
  const id = isAbbreviated ? short(commit.id) : commit.id;
  const names = decorationText(commit, style);
  const zone = zoneOf(context);
  if (format.startsWith("format:") || format.startsWith("tformat:")) {
    return expand(format.slice(format.indexOf(":") + 1), commit, style, { repository, entry });
  }
  if (format === "reference") {
    return `${short(commit.id)} (${subjectOf(commit.message)}, ${dateText(commit.author, "short", zone)})`;
  }
  if (format === "oneline") {
    const log = entry ? `${entry.name}: ${entry.value.message}` : subjectOf(commit.message);
    const parents = style.showsParents
      ? ` ${commit.parents.map((parent) => isAbbreviated ? short(parent) : parent).join(" ")}`.trimEnd()
      : "";
    return `${mark}${id}${parents}${names} ${log}`;
  }
  let text = `commit ${mark}${id}${
    style.showsParents
      ? commit.parents.map((parent) => ` ${isAbbreviated ? short(parent) : parent}`).join("")
      : ""
  }${names}\n`;
  if (entry) {
    text += `Reflog: ${entry.name} (${entry.value.who.name} <${entry.value.who.email}>)\n` +
      `Reflog message: ${entry.value.message}\n`;
  }
  if (format === "raw") {
    text += `tree ${commit.tree}\n${commit.parents.map((parent) => `parent ${parent}\n`).join("")}` +
      `author ${raw(commit.author)}\ncommitter ${raw(commit.committer)}\n\n`;
    return text + indented(commit.message, true);
  }
  if (commit.parents.length > 1) text += `Merge: ${commit.parents.map(short).join(" ")}\n`;
  const date = (who: Signature) => dateText(who, style.date, zone);
  const person = ({ name, email }: Signature) => `${name} <${email}>`;
  if (format === "short") {
    return `${text}Author: ${person(commit.author)}\n\n    ${subjectOf(commit.message)}\n`;
  }
  if (format === "medium") text += `Author: ${person(commit.author)}\nDate:   ${date(commit.author)}\n\n`;
  else if (format === "full") {
    text += `Author: ${person(commit.author)}\nCommit: ${person(commit.committer)}\n\n`;
  } else {
    text += `Author:     ${person(commit.author)}\nAuthorDate: ${date(commit.author)}\n` +
      `Commit:     ${person(commit.committer)}\nCommitDate: ${date(commit.committer)}\n\n`;
  }
  return text + indented(commit.message, false);
}

function raw(who: Signature): string {
  return `${who.name} <${who.email}> ${dateText(who, "raw", () => ({ minutes: 0, name: "UTC" }))}`;
}

function indented(message: string, isRaw: boolean): string {
  const text = message.replace(/^\n+/, "").trimEnd();
  if (text === "") return "";
  return text.split("\n").map((line) => {
    const shown = isRaw ? line : line.trimEnd();
    return `    ${shown}\n`;
  }).join("");
}

function decorationText({ id }: Commit, { decorations }: PrettyStyle): string {
  const names = decorations?.get(id);
  return names ? ` (${names.join(", ")})` : "";
}

/** Returns the names of commits, as `--decorate` prints them. */
export function decorationsOf({ references, objects }: Repository, isFull = false): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (id: string, name: string) => found.set(id, [...found.get(id) ?? [], name]);
  const target = references.headTarget();
  const head = references.resolve("HEAD");
  const short = (name: string, prefix: string) => isFull ? name : name.slice(prefix.length);
  const peeled = (id: string): string => {
    const object = objects.find(id);
    if (object?.kind !== "tag") return id;
    const [, inner = id] =
      /^object ([0-9a-f]{40})/.exec(String.fromCharCode(...object.bytes.subarray(0, 48))) ?? [];
    return peeled(inner);
  };
  if (head !== undefined) {
    const isBorn = target !== undefined && references.resolve(target) !== undefined;
    add(head, isBorn ? `HEAD -> ${short(target, "refs/heads/")}` : "HEAD");
  }
  for (const [name, id] of references.list("refs/tags/")) {
    add(peeled(id), `tag: ${short(name, "refs/tags/")}`);
  }
  for (const [name, id] of references.list("refs/remotes/")) add(id, short(name, "refs/remotes/"));
  for (const [name, id] of references.list("refs/heads/")) {
    if (name !== target) add(id, short(name, "refs/heads/"));
  }
  if (references.resolve("refs/stash") !== undefined) {
    add(references.resolve("refs/stash") ?? "", "refs/stash");
  }
  return found;
}

/** Replaces the placeholders of a format. */
function expand(
  format: string,
  commit: Commit,
  style: PrettyStyle,
  { repository, entry }: { repository: Repository; entry?: { name: string; value: LogEntry } | undefined },
): string {
  const { objects, context } = repository;
  const short = (id: string) => objects.abbreviate(id, style.digits);
  const zone = zoneOf(context);
  const person = (who: Signature, letter: string): string | undefined => {
    const forms: Readonly<Record<string, string>> = {
      d: style.date,
      D: "rfc",
      r: "relative",
      t: "unix",
      i: "iso",
      I: "iso-strict",
      s: "short",
    };
    if (letter === "n" || letter === "N") return who.name;
    if (letter === "e" || letter === "E") return who.email;
    if (letter === "l" || letter === "L") return who.email.split("@", 1)[0] ?? "";
    const form = forms[letter];
    return form === undefined ? undefined : dateText(who, form, zone);
  };
  const names = () => style.decorations?.get(commit.id) ?? decorationsOf(repository).get(commit.id) ?? [];
  const message = commit.message.replace(/^\n+/, "");
  const value = (code: string): string | undefined => {
    switch (code) {
      case "H":
        return commit.id;
      case "h":
        return short(commit.id);
      case "T":
        return commit.tree;
      case "t":
        return short(commit.tree);
      case "P":
        return commit.parents.join(" ");
      case "p":
        return commit.parents.map(short).join(" ");
      case "s":
        return subjectOf(message);
      case "b":
        return bodyOf(message);
      case "B":
        return message;
      case "f":
        return subjectOf(message).replace(/[^\w.]+/g, "-").replace(/\.{2,}/g, ".").replace(/^-|[-.]+$/g, "");
      case "e":
      case "N":
        return "";
      case "d":
        return names().length > 0 ? ` (${names().join(", ")})` : "";
      case "D":
        return names().join(", ");
      case "n":
        return "\n";
      case "m":
        return ">";
      case "%":
        return "%";
      case "gd":
      case "gD":
        return entry?.name ?? "";
      case "gs":
        return entry?.value.message ?? "";
      case "gn":
        return entry?.value.who.name ?? "";
      case "ge":
        return entry?.value.who.email ?? "";
      case "G?":
        return "N";
      default:
        return undefined;
    }
  };
  return format.replace(
    /%(?:x([0-9A-Fa-f]{2})|C(?:\([^)]*\)|red|green|blue|reset)|([ac])([a-zA-Z])|(g[dDsne]|G\?|[A-Za-z%])|([<>w(+\- |][^]?))/g,
    (whole: string, byte?: string, who?: string, letter?: string, code?: string, odd?: string) => {
      if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16));
      if (who !== undefined) {
        return person(who === "a" ? commit.author : commit.committer, letter ?? "") ?? whole;
      }
      if (code !== undefined) return value(code) ?? whole;
      if (odd !== undefined) refuse(`the placeholder '%${odd}' of a format`);
      return "";
    },
  );
}
