import { assertEquals } from "@std/assert";
import { type BranchNode, branchTreeOf } from "../../src/viewer/branch_tree.ts";
import { factsOf } from "../../src/viewer/index/episode_facts.ts";
import { EpisodeTable } from "../../src/viewer/index/episode_table.ts";
import { rowOf } from "./saved_rows.ts";

function tableOf(rows: readonly { id?: string; parent?: string; turn?: number }[]): EpisodeTable {
  const table = new EpisodeTable();
  for (const row of rows) {
    table.append({ offset: 0, length: 1 }, factsOf({ ...JSON.parse(rowOf()), ...row }));
  }
  return table;
}

function shapeOf({ row, children }: BranchNode): unknown {
  return [row, ...children.map(shapeOf)];
}

Deno.test("branchTreeOf() returns the tree from its root, for each of its episodes", () => {
  const table = tableOf([
    { id: "c", parent: "b", turn: 3 },
    { id: "a" },
    { id: "d", parent: "a", turn: 2 },
    { id: "b", parent: "a", turn: 1 },
    {},
  ]);
  for (const row of [0, 1, 2, 3]) {
    const tree = branchTreeOf(table, row);
    assertEquals(tree && shapeOf(tree), [1, [3, [0]], [2]]);
  }
  assertEquals(branchTreeOf(table, 4), undefined);
});

Deno.test("branchTreeOf() ends at a cycle and at a parent that the file does not have", () => {
  const cycle = tableOf([{ id: "a", parent: "b" }, { id: "b", parent: "a" }]);
  const tree = branchTreeOf(cycle, 0);
  assertEquals(tree && shapeOf(tree), [1, [0]]);
  assertEquals(branchTreeOf(tableOf([{ id: "a", parent: "gone" }]), 0), undefined);
  assertEquals(branchTreeOf(tableOf([{ id: "a", parent: "a" }]), 0), undefined);
});
