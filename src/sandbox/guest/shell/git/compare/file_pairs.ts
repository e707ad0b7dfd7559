import { textOf } from "../../gnu/command.ts";
import { hashObject, type ObjectStore } from "../store/object_store.ts";
import { type FileMap, MODE, readTree, type TreeFile } from "../store/tree_object.ts";

/** A side of a change of a file. */
export interface FileSide extends TreeFile {
  readonly path: string;
  /** Returns the contents as byte text. */
  read(): string;
}

/** How a file changed: added, deleted, modified, its type changed, renamed, copied, or in conflict. */
export type ChangeLetter = "A" | "D" | "M" | "T" | "R" | "C" | "U";

/** A file that differs between two sides. */
export interface FilePair {
  readonly letter: ChangeLetter;
  readonly from: FileSide | undefined;
  readonly to: FileSide | undefined;
  /** Percentage of equal contents of a renamed file. */
  readonly similarity?: number;
}

/** Returns the path by which a pair is sorted and named. */
export function pathOfPair({ from, to }: FilePair): string {
  return to?.path ?? from?.path ?? "";
}

/** Returns a side whose contents are in the object store. */
export function storedSide(store: ObjectStore, path: string, file: TreeFile): FileSide {
  const read = () =>
    file.mode === MODE.module ? `Subproject commit ${file.id}\n` : textOf(store.readKind(file.id, "blob"));
  return { path, mode: file.mode, id: file.id, read };
}

/** Returns a side with contents that may not be in the object store. */
export function contentSide(path: string, mode: number, bytes: Uint8Array): FileSide {
  let text: string | undefined;
  return { path, mode, id: hashObject("blob", bytes), read: () => text ??= textOf(bytes) };
}

/** Returns the files that differ between two maps, in the order of their paths. */
export function comparePaths(
  from: FileMap,
  to: FileMap,
  sides: {
    readonly from: (path: string, file: TreeFile) => FileSide;
    readonly to: (path: string, file: TreeFile) => FileSide;
  },
): FilePair[] {
  const paths = [...new Set([...from.keys(), ...to.keys()])].sort();
  return paths.flatMap((path) => {
    const [old, fresh] = [from.get(path), to.get(path)];
    if (old && fresh && old.id === fresh.id && old.mode === fresh.mode) return [];
    return [pairOf(old && sides.from(path, old), fresh && sides.to(path, fresh))];
  });
}

/** Returns the files that differ between two trees, given as maps. */
export function compareTrees(store: ObjectStore, from: FileMap, to: FileMap): FilePair[] {
  const side = (path: string, file: TreeFile) => storedSide(store, path, file);
  return comparePaths(from, to, { from: side, to: side });
}

/**
 * Returns the files that differ between two trees. A tree may be absent. Folders that are the same are not read.
 *
 * @param isEntered Whether a folder may have files that the caller wants.
 */
export function compareTreeObjects(
  store: ObjectStore,
  { from, to }: { from: string | undefined; to: string | undefined },
  isEntered: (folder: string) => boolean = () => true,
): FilePair[] {
  const pairs: FilePair[] = [];
  const entriesOf = (id: string | undefined) =>
    new Map((id === undefined ? [] : readTree(store, id)).map(({ name, ...file }) => [name, file]));
  const visit = (old: string | undefined, fresh: string | undefined, folder: string) => {
    const [left, right] = [entriesOf(old), entriesOf(fresh)];
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      const [before, after] = [left.get(name), right.get(name)];
      if (before?.id === after?.id && before?.mode === after?.mode) continue;
      const path = folder + name;
      const treeOf = (file: TreeFile | undefined) => file?.mode === MODE.folder ? file.id : undefined;
      const [oldTree, newTree] = [treeOf(before), treeOf(after)];
      if ((oldTree ?? newTree) !== undefined && isEntered(path)) visit(oldTree, newTree, `${path}/`);
      const side = (file: TreeFile | undefined) =>
        file && file.mode !== MODE.folder ? storedSide(store, path, file) : undefined;
      const [one, other] = [side(before), side(after)];
      if (one ?? other) pairs.push(pairOf(one, other));
    }
  };
  if (from !== to) visit(from, to, "");
  return pairs.sort((a, b) => pathOfPair(a) < pathOfPair(b) ? -1 : 1);
}

/** Makes a pair of two sides of a path. */
export function pairOf(from: FileSide | undefined, to: FileSide | undefined): FilePair {
  if (!from) return { letter: "A", from, to };
  if (!to) return { letter: "D", from, to };
  const isSameType = (from.mode & 0o170000) === (to.mode & 0o170000);
  return { letter: isSameType ? "M" : "T", from, to };
}

/** Returns a pair with its sides exchanged. */
export function reversePair({ letter, from, to, similarity }: FilePair): FilePair {
  const turned = letter === "A" ? "D" : letter === "D" ? "A" : letter;
  return { letter: turned, from: to, to: from, ...(similarity !== undefined && { similarity }) };
}

const FIRST_BYTES = 8000;

/** True if contents are not text: a null byte is near the start. */
export function isBinary(text: string): boolean {
  const at = text.indexOf("\0");
  return at >= 0 && at < FIRST_BYTES;
}
