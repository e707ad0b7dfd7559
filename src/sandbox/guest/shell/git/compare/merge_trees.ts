import { bytesOf, linesOf, textOf } from "../../gnu/command.ts";
import type { ObjectStore } from "../store/object_store.ts";
import { type FileMap, MODE, sortedFiles, type TreeFile } from "../store/tree_object.ts";
import { isBinary } from "./file_pairs.ts";
import { type LineChange, lineChanges } from "./line_changes.ts";

/** The result of a merge of three trees: its files, and those that cannot be merged. */
export interface MergedTree {
  readonly files: Map<string, TreeFile>;
  readonly conflicts: readonly string[];
  /** Files with changes of both sides. */
  readonly merged: readonly string[];
}

/** Merges the changes from a base to two sides, line by line where both sides changed a file. */
export function mergeTrees(
  store: ObjectStore,
  { base, ours, theirs }: { base: FileMap; ours: FileMap; theirs: FileMap },
): MergedTree {
  const files = new Map<string, TreeFile>();
  const [conflicts, merged]: [string[], string[]] = [[], []];
  for (const path of new Set([...base.keys(), ...ours.keys(), ...theirs.keys()])) {
    const [old, own, other] = [base.get(path), ours.get(path), theirs.get(path)];
    const keep = (file: TreeFile | undefined) => file && files.set(path, file);
    if (isSame(own, other) || isSame(old, other)) keep(own);
    else if (isSame(old, own)) keep(other);
    else {
      const file = old && own && other ? mergeFiles(store, old, own, other) : undefined;
      if (file) {
        keep(file);
        merged.push(path);
      } else conflicts.push(path);
    }
  }
  for (const path of files.keys()) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      if (files.has(path.slice(0, at))) conflicts.push(path); // a file on one side, a folder on the other
    }
  }
  return { files: sortedFiles(files), conflicts: [...new Set(conflicts)].sort(), merged };
}

function isSame(one: TreeFile | undefined, other: TreeFile | undefined): boolean {
  return one?.id === other?.id && one?.mode === other?.mode;
}

function mergeFiles(store: ObjectStore, old: TreeFile, own: TreeFile, other: TreeFile): TreeFile | undefined {
  const isFile = ({ mode }: TreeFile) => mode === MODE.file || mode === MODE.program;
  if (![old, own, other].every(isFile)) return undefined;
  const mode = own.mode === old.mode ? other.mode : own.mode;
  if (own.id === other.id || other.id === old.id) return { mode, id: own.id };
  if (own.id === old.id) return { mode, id: other.id };
  const [base, left, right] = [old, own, other].map(({ id }) => textOf(store.readKind(id, "blob")));
  if (base === undefined || left === undefined || right === undefined) return undefined;
  if ([base, left, right].some(isBinary)) return undefined;
  const text = mergeTexts(base, left, right);
  return text === undefined ? undefined : { mode, id: store.write("blob", bytesOf(text)) };
}

/** Merges two changes of a text. Returns `undefined` if they touch. */
export function mergeTexts(base: string, left: string, right: string): string | undefined {
  const [old, own, other] = [linesOf(base), linesOf(left), linesOf(right)];
  const ofOwn = lineChanges({ from: old, to: own }, { from: old, to: own });
  const ofOther = lineChanges({ from: old, to: other }, { from: old, to: other });
  const result: string[] = [];
  let at = 0;
  const take = (change: LineChange, lines: readonly string[]) => {
    result.push(...old.slice(at, change.fromStart), ...lines.slice(change.toStart, change.toEnd));
    at = change.fromEnd;
  };
  let [first, second] = [ofOwn.shift(), ofOther.shift()];
  while (first || second) {
    if (first && (!second || first.fromEnd < second.fromStart)) {
      take(first, own);
      first = ofOwn.shift();
    } else if (second && (!first || second.fromEnd < first.fromStart)) {
      take(second, other);
      second = ofOther.shift();
    } else if (first && second) {
      const isEqual = first.fromStart === second.fromStart && first.fromEnd === second.fromEnd &&
        own.slice(first.toStart, first.toEnd).join("") === other.slice(second.toStart, second.toEnd).join("");
      if (!isEqual) return undefined;
      take(first, own);
      [first, second] = [ofOwn.shift(), ofOther.shift()];
    }
  }
  result.push(...old.slice(at));
  return result.join("");
}
