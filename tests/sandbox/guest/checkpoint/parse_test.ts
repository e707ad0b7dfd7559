import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  parseTree,
  type TreeImage,
  type TreeNode,
} from "../../../../src/sandbox/guest/checkpoint/file_tree.ts";
import { checkRuns } from "../../../../src/sandbox/guest/checkpoint/heap_delta.ts";
import { type OpenFile, parseOpenFiles } from "../../../../src/sandbox/guest/checkpoint/open_files.ts";

const [FOLDER, FILE, LINK, PIPE] = [0o040755, 0o100644, 0o120777, 0o010644];
const TIMES = [1, 2, 3] as const;
const ROOT: TreeNode = [-1, "/", 1, FOLDER, TIMES, 0];

function treeOf(...nodes: unknown[]): TreeImage {
  return { nodes: [ROOT, ...nodes as TreeNode[]], nextInode: 9, workingFolder: "/" };
}

Deno.test("parseTree() accepts folders, files, links and removed files", () => {
  const tree = treeOf(
    [0, "d", 2, FOLDER, TIMES, 0],
    [1, "f", 3, FILE, TIMES, 5],
    [0, "l", 4, LINK, TIMES, "../../etc"],
    [-1, "removed", 5, FILE, TIMES, 1],
  );
  assertEquals(parseTree(tree), tree);
});

Deno.test("parseTree() refuses what could leave the tree, or what no tree has", () => {
  const wrong: Record<string, unknown> = {
    "a name with two parts": [0, "a/b", 2, FILE, TIMES, 0],
    "an absolute name": [0, "/etc", 2, FILE, TIMES, 0],
    "the folder above": [0, "..", 2, FOLDER, TIMES, 0],
    "the folder itself": [0, ".", 2, FOLDER, TIMES, 0],
    "no name": [0, "", 2, FILE, TIMES, 0],
    "a name with a zero": [0, "a\0b", 2, FILE, TIMES, 0],
    "a name that is no text": [0, 7, 2, FILE, TIMES, 0],
    "a later folder": [2, "a", 2, FILE, TIMES, 0],
    "a folder that is no number": [0.5, "a", 2, FILE, TIMES, 0],
    "itself as its folder": [1, "a", 2, FOLDER, TIMES, 0],
    "the inode of another node": [0, "a", 1, FILE, TIMES, 0],
    "a negative inode": [0, "a", -1, FILE, TIMES, 0],
    "another kind of node": [0, "a", 2, PIPE, TIMES, 0],
    "a mode with other bits": [0, "a", 2, 2 ** 20, TIMES, 0],
    "a negative size": [0, "a", 2, FILE, TIMES, -1],
    "a size that is no number": [0, "a", 2, FILE, TIMES, "5"],
    "an invalid time": [0, "a", 2, FILE, [1, 2, 1e300], 0],
    "two times": [0, "a", 2, FILE, [1, 2], 0],
    "a link without a target": [0, "a", 2, LINK, TIMES, 0],
    "no node": null,
  };
  for (const [name, node] of Object.entries(wrong)) {
    const { message } = assertThrows(() => parseTree(treeOf(node)), Error);
    assertStringIncludes(message, "Cannot restore", name);
  }
  const inFile = treeOf([0, "f", 2, FILE, TIMES, 0], [1, "a", 3, FILE, TIMES, 0]);
  assertThrows(() => parseTree(inFile), Error, "is in no folder");
  assertThrows(() => parseTree({ ...treeOf(), workingFolder: "home" }), Error, "no absolute path");
});

Deno.test("parseOpenFiles() refuses descriptors and nodes that do not exist, or exist twice", () => {
  const file = { fds: [4, 5], node: 0, path: "/f", flags: 2, position: 3 };
  assertEquals(parseOpenFiles([file], 1, 8), [file]);
  const wrong: Partial<Record<keyof OpenFile, unknown>>[] = [
    { fds: [8] },
    { fds: [] },
    { fds: [4, 4] },
    { fds: [-1] },
    { node: 1 },
    { node: -1 },
    { node: "/a\0" },
    { flags: -1 },
    { position: -1 },
    { position: 0.5 },
    { names: [1] },
  ];
  for (const change of wrong) {
    assertThrows(() => parseOpenFiles([{ ...file, ...change } as OpenFile], 1, 8), Error, "Cannot restore");
  }
});

Deno.test("checkRuns() refuses pages that overlap, descend, or are outside the heap", () => {
  assertEquals(checkRuns([[0, 1], [1, 2]], 3 * 4096), 3 * (8 + 4096));
  const wrong = [[[1, 1], [0, 1]], [[0, 2], [1, 1]], [[0, 0]], [[-1, 1]], [[0.5, 1]], [[2, 2]]] as const;
  for (const runs of wrong) assertThrows(() => checkRuns(runs as never, 3 * 4096), Error, "Cannot restore");
});
