import { assertEquals } from "@std/assert";
import { type BranchNode, branchTreeOf } from "../../../src/viewer/episode/branch_tree.ts";
import { factsOf } from "../../../src/viewer/index/episode_columns.ts";
import { EpisodeTable } from "../../../src/viewer/index/episode_table.ts";
import { rowOf } from "../saved_rows.ts";

function tableOf(rows: readonly { id?: string; parent?: { id: string; turn: number } }[]): EpisodeTable {
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
    { id: "c", parent: { id: "b", turn: 3 } },
    { id: "a" },
    { id: "d", parent: { id: "a", turn: 2 } },
    { id: "b", parent: { id: "a", turn: 1 } },
    {},
  ]);
  for (const row of [0, 1, 2, 3]) {
    const tree = branchTreeOf(table, row);
    assertEquals(tree && shapeOf(tree), [1, [3, [0]], [2]]);
  }
  assertEquals(branchTreeOf(table, 4), undefined);
});

Deno.test("branchTreeOf() ends at a cycle and at a parent that the file does not have", () => {
  const cycle = tableOf([{ id: "a", parent: { id: "b", turn: 1 } }, {
    id: "b",
    parent: { id: "a", turn: 1 },
  }]);
  const tree = branchTreeOf(cycle, 0);
  assertEquals(tree && shapeOf(tree), [1, [0]]);
  assertEquals(branchTreeOf(tableOf([{ id: "a", parent: { id: "gone", turn: 1 } }]), 0), undefined);
  assertEquals(branchTreeOf(tableOf([{ id: "a", parent: { id: "a", turn: 1 } }]), 0), undefined);
});
