import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";

/** A directed graph: for each node the lengths of the edges to other nodes. */
type Graph = ReadonlyMap<string, ReadonlyMap<string, number>>;

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** Edges that start at each node. */
const DEGREE = 4;
/** Least number of edges of the shortest path. */
const MIN_EDGES = 3;

/** The shortest path between two nodes of a directed graph. Difficulty adds nodes. */
export const graphPaths: Family = {
  about: "the shortest path between two nodes of a directed graph with lengths",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const nodes = draw.sample(LETTERS, 6 + difficulty).toSorted();
  const graph: Graph = new Map(nodes.map((node) => {
    const targets = draw.sample(nodes.filter((other) => other !== node), DEGREE);
    return [node, new Map(targets.map((target) => [target, draw.int(1, 9 + 2 * difficulty)]))];
  }));
  const [start = "", goal = ""] = draw.sample(nodes, 2);
  const best = shortestPath(graph, start, goal);
  if (best === undefined || best.path.length <= MIN_EDGES + (difficulty >= 6 ? 1 : 0)) return undefined;
  const edges = [...graph].flatMap(([from, targets]) =>
    [...targets].map(([to, length]) => `${from} -> ${to} (${length})`)
  );
  return {
    kind: "reply",
    query: "A directed graph has these edges, with their lengths in parentheses:\n" +
      `${edges.join("\n")}\nFind a shortest path from ${start} to ${goal}. ` +
      "Give the nodes in order, as in X -> Y -> Z.",
    solution: best.path.join(" -> "),
    copies: ["X -> Y -> Z", `${start} -> ${goal}`, ...edges.slice(0, 3)],
    guess: (draw) => randomPath(draw, graph, { start, goal }).join(" -> "),
    check: (answer) => check(answer, { graph, start, goal, length: best.length }),
  };
}

/** Returns a shortest path by Dijkstra's algorithm; undefined if there is no path. */
function shortestPath(
  graph: Graph,
  start: string,
  goal: string,
): { readonly path: readonly string[]; readonly length: number } | undefined {
  const found = new Map([[start, { path: [start], length: 0 }]]);
  const open = new Set([start]);
  while (open.size > 0) {
    const node = [...open].reduce((one, other) =>
      (found.get(other)?.length ?? Infinity) < (found.get(one)?.length ?? Infinity) ? other : one
    );
    open.delete(node);
    const { path, length } = found.get(node) ?? { path: [], length: Infinity };
    if (node === goal) return { path, length };
    for (const [target, edge] of graph.get(node) ?? []) {
      if (length + edge >= (found.get(target)?.length ?? Infinity)) continue;
      found.set(target, { path: [...path, target], length: length + edge });
      open.add(target);
    }
  }
  return undefined;
}

/** Returns a random path without repeated nodes. */
function randomPath(draw: Draw, graph: Graph, { start, goal }: { start: string; goal: string }): string[] {
  const visit = (path: string[]): string[] | undefined => {
    const node = path.at(-1) ?? start;
    if (node === goal) return path;
    for (const target of draw.shuffle([...graph.get(node)?.keys() ?? []])) {
      const longer = path.includes(target) ? undefined : visit([...path, target]);
      if (longer !== undefined) return longer;
    }
    return undefined;
  };
  return visit([start]) ?? [start, goal];
}

function check(
  answer: string,
  { graph, start, goal, length }: { graph: Graph; start: string; goal: string; length: number },
): Verdict {
  const path = answer.split(/->|→|,/).map((node) => node.trim());
  if (path.length < 2 || path.length > 100 || !path.every((node) => graph.has(node))) return "malformed";
  if (path[0] !== start || path.at(-1) !== goal) return "wrong";
  const total = path.slice(1).reduce(
    (sum, node, at) => sum + (graph.get(path[at] ?? "")?.get(node) ?? Infinity),
    0,
  );
  return total === length ? "right" : "wrong";
}
