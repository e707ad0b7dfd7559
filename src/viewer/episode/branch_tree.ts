import type { EpisodeTable } from "../index/episode_table.ts";

/** An episode in a tree of branches. */
export interface BranchNode {
  readonly row: number;
  /** Turn of the parent at which this episode branches; 0 for the root. */
  readonly turn: number;
  readonly children: readonly BranchNode[];
}

/** Episodes of a tree that are shown. */
const MAX_NODES = 500;

/**
 * Returns the tree of an episode, or `undefined` if the episode has no parent and no branches. A row has an `id`, and
 * the `id` of the row's `parent` with the `turn` at which the two rows differ. A parent that the file lacks, and a
 * cycle, end the search for the root.
 */
export function branchTreeOf({ columns, count }: EpisodeTable, row: number): BranchNode | undefined {
  const { id, parent, branchTurn } = columns;
  const own = id[row] ?? 0;
  if (own === 0) return undefined;
  const children = new Map<number, number[]>();
  const rowsById = new Map<number, number>();
  for (let at = 0; at < count; at++) {
    const number = id[at] ?? 0;
    if (number === 0) continue;
    rowsById.set(number, at);
    const above = parent[at] ?? 0;
    if (above === 0 || above === number) continue;
    const siblings = children.get(above);
    if (siblings) siblings.push(at);
    else children.set(above, [at]);
  }
  const passed = new Set([row]);
  let root = row;
  for (
    let above = rowsById.get(parent[root] ?? 0);
    above !== undefined;
    above = rowsById.get(parent[root] ?? 0)
  ) {
    if (passed.has(above)) break;
    passed.add(root = above);
  }
  const placed = new Set<number>();
  const toNode = (at: number): BranchNode => {
    placed.add(at);
    const below = (children.get(id[at] ?? 0) ?? []).filter((child) =>
      !placed.has(child) && placed.size < MAX_NODES
    );
    below.sort((one, other) => (branchTurn[one] ?? 0) - (branchTurn[other] ?? 0));
    return { row: at, turn: at === root ? 0 : branchTurn[at] ?? 0, children: below.map(toNode) };
  };
  const tree = toNode(root);
  return tree.children.length === 0 && root === row ? undefined : tree;
}
