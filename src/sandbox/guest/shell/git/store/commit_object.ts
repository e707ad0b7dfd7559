import { bytesOf, textOf } from "../../gnu/command.ts";
import { fatal } from "./git_error.ts";
import type { ObjectStore } from "./object_store.ts";

/** Who made a commit or a tag, and when. */
export interface Signature {
  readonly name: string;
  readonly email: string;
  /** Seconds since 1970. */
  readonly seconds: number;
  /** Offset from UTC in minutes. */
  readonly offset: number;
}

/** A commit. Texts are byte texts. */
export interface Commit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
}

/** Reads a commit. A commit at which a shallow clone ends has no parents. */
export function readCommit(store: ObjectStore, id: string): Commit {
  const text = textOf(store.readKind(id, "commit"));
  const { head, message } = splitObject(text);
  const values = (name: string) =>
    head.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  const [tree = ""] = values("tree");
  return {
    id,
    tree,
    parents: store.isShallow(id) ? [] : values("parent"),
    author: readSignature(values("author")[0] ?? ""),
    committer: readSignature(values("committer")[0] ?? ""),
    message,
  };
}

/** Writes a commit, and returns its hash. */
export function writeCommit(store: ObjectStore, commit: Omit<Commit, "id">): string {
  const { tree, parents, author, committer, message } = commit;
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${signatureText(author)}`,
    `committer ${signatureText(committer)}`,
  ];
  return store.write("commit", bytesOf(`${lines.join("\n")}\n\n${message}`));
}

/** A tag with a message. */
export interface Tag {
  readonly object: string;
  readonly kind: string;
  readonly name: string;
  readonly tagger: Signature;
  readonly message: string;
}

/** Reads a tag. */
export function readTag(store: ObjectStore, id: string): Tag {
  const { head, message } = splitObject(textOf(store.readKind(id, "tag")));
  const value = (name: string) =>
    head.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
  return {
    object: value("object"),
    kind: value("type"),
    name: value("tag"),
    tagger: readSignature(value("tagger")),
    message,
  };
}

/** Writes a tag, and returns its hash. */
export function writeTag(store: ObjectStore, { object, kind, name, tagger, message }: Tag): string {
  const head = `object ${object}\ntype ${kind}\ntag ${name}\ntagger ${signatureText(tagger)}\n`;
  return store.write("tag", bytesOf(`${head}\n${message}`));
}

/** Splits a commit or a tag into its lines and the message. Lines that continue another line are left out. */
function splitObject(text: string): { head: string[]; message: string } {
  const end = text.indexOf("\n\n");
  const head = (end < 0 ? text : text.slice(0, end)).split("\n").filter((line) => !line.startsWith(" "));
  return { head, message: end < 0 ? "" : text.slice(end + 2) };
}

/** Returns a signature as objects have it. */
export function signatureText({ name, email, seconds, offset }: Signature): string {
  return `${name} <${email}> ${seconds} ${offsetText(offset)}`;
}

/** Reads a signature of an object. */
export function readSignature(text: string): Signature {
  const [, name = "", email = "", seconds = "0", sign = "+", hours = "0", minutes = "0"] =
    /^(.*?) ?<([^>]*)> (-?\d+) ([-+])(\d\d)(\d\d)$/.exec(text) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  return { name, email, seconds: Number(seconds), offset: sign === "-" ? -offset : offset };
}

/** Returns an offset from UTC such as `+0200`. */
export function offsetText(minutes: number): string {
  const distance = Math.abs(minutes);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(distance / 60))}${two(distance % 60)}`;
}

/** Returns the first paragraph of a message as a line. */
export function subjectOf(message: string): string {
  const text = message.replace(/^\n+/, "");
  const end = text.search(/\n[ \t]*(?:\n|$)/);
  return (end < 0 ? text : text.slice(0, end)).trimEnd().split("\n").map((line) => line.trimEnd()).join(" ");
}

/** Returns a message without its first paragraph. */
export function bodyOf(message: string): string {
  const text = message.replace(/^\n+/, "");
  const [whole] = /\n[ \t]*\n\s*/.exec(text) ?? [];
  return whole === undefined ? "" : text.slice(text.indexOf(whole) + whole.length);
}

/** Returns the commit that a tag or a commit names. Ends the command for other objects. */
export function peelToCommit(store: ObjectStore, id: string, name: string): string {
  const object = store.read(id);
  if (object.kind === "commit") return id;
  if (object.kind === "tag") return peelToCommit(store, readTag(store, id).object, name);
  return fatal(`${name}: not a commit`);
}
