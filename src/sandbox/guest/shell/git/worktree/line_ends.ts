import { bytesOf, statusOf, textOf } from "../../gnu/command.ts";
import { isBinary } from "../compare/file_pairs.ts";
import type { Repository } from "../store/repository.ts";
import { wildmatch } from "./wildmatch.ts";

/** Values of the attributes of a file: true, false, or a text. */
export type Attributes = ReadonlyMap<string, boolean | string>;

interface AttributeLine {
  readonly pattern: RegExp;
  readonly matchesPath: boolean;
  readonly values: readonly (readonly [string, boolean | string | undefined])[];
}

const byRepository = new WeakMap<Repository, Map<string, readonly AttributeLine[]>>();

/** Returns the attributes that `.gitattributes` give a file. */
export function attributesOf(repository: Repository, path: string): Attributes {
  const known = byRepository.get(repository) ?? new Map<string, readonly AttributeLine[]>();
  byRepository.set(repository, known);
  const linesOf = (file: string) => {
    const lines = known.get(file) ?? readLines(repository, file);
    known.set(file, lines);
    return lines;
  };
  const found = new Map<string, boolean | string>();
  const apply = (lines: readonly AttributeLine[], inside: string) => {
    const name = inside.slice(inside.lastIndexOf("/") + 1);
    for (const { pattern, matchesPath, values } of lines) {
      if (!pattern.test(matchesPath ? inside : name)) continue;
      for (const [key, value] of values) {
        if (value === undefined) found.delete(key);
        else found.set(key, value);
        if (key === "binary" && value === true) {
          for (const off of ["diff", "merge", "text"]) found.set(off, false);
        }
      }
    }
  };
  if (repository.top !== undefined) apply(linesOf(repository.absolute(".gitattributes")), path);
  for (let at = path.indexOf("/"); at >= 0 && repository.top !== undefined; at = path.indexOf("/", at + 1)) {
    apply(linesOf(repository.absolute(`${path.slice(0, at)}/.gitattributes`)), path.slice(at + 1));
  }
  apply(linesOf(`${repository.gitFolder}/info/attributes`), path);
  return found;
}

function readLines({ files }: Repository, path: string): AttributeLine[] {
  if (statusOf(files, path)?.kind !== "file") return [];
  return textOf(files.read(path)).split("\n").flatMap((line) => {
    const [name, ...words] = line.trim().split(/\s+/);
    if (!name || name.startsWith("#") || name.startsWith("[")) return [];
    const values = words.map((word) => {
      if (word.startsWith("-")) return [word.slice(1), false] as const;
      if (word.startsWith("!")) return [word.slice(1), undefined] as const;
      const at = word.indexOf("=");
      return at < 0 ? [word, true] as const : [word.slice(0, at), word.slice(at + 1)] as const;
    });
    const matchesPath = name.includes("/");
    return [{ pattern: wildmatch(name.replace(/^\//, ""), { isPath: true }), matchesPath, values }];
  });
}

/** How the line ends of a file are converted: as text, as text if the contents look like text, or not at all. */
function conversionOf(
  repository: Repository,
  path: string,
): { text: "all" | "auto" | "none"; isCrlf: boolean } {
  const attributes = attributesOf(repository, path);
  const automatic = repository.config.get("core.autocrlf")?.toLowerCase();
  const [text, eol] = [attributes.get("text"), attributes.get("eol")];
  const isCrlf = eol === "crlf" ||
    (eol !== "lf" && (automatic === "true" || repository.config.get("core.eol") === "crlf"));
  if (text === false) return { text: "none", isCrlf: false };
  if (text === true || (text === undefined && (eol === "crlf" || eol === "lf"))) {
    return { text: "all", isCrlf };
  }
  if (text === "auto") return { text: "auto", isCrlf };
  const isAutomatic = automatic === "true" || automatic === "input";
  return { text: isAutomatic ? "auto" : "none", isCrlf: automatic === "true" };
}

/** True if the line ends of a file will differ from the work tree when the file is checked out again. */
export function losesReturns(repository: Repository, path: string): boolean {
  const { text, isCrlf } = conversionOf(repository, path);
  return text !== "none" && !isCrlf;
}

/** Converts contents of the work tree to those that are stored. */
export function toStored(repository: Repository, path: string, bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(13)) return bytes;
  const { text } = conversionOf(repository, path);
  if (text === "none") return bytes;
  const contents = textOf(bytes);
  if (text === "auto" && (isBinary(contents) || hasStoredReturns(repository, path))) return bytes;
  return bytesOf(contents.replaceAll("\r\n", "\n"));
}

/** True if the index has the file with CRLF, which is then kept. */
function hasStoredReturns({ index, objects }: Repository, path: string): boolean {
  const entry = index.entries.get(path);
  return entry !== undefined && textOf(objects.readKind(entry.id, "blob")).includes("\r\n");
}

/** Converts stored contents to contents of the work tree. */
export function toWorking(repository: Repository, path: string, bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(10)) return bytes;
  const { text, isCrlf } = conversionOf(repository, path);
  if (text === "none" || !isCrlf) return bytes;
  const contents = textOf(bytes);
  if (text === "auto" && (isBinary(contents) || contents.includes("\r\n"))) return bytes;
  return bytesOf(contents.replace(/(?<!\r)\n/g, "\r\n"));
}
