import { type FilePair, type FileSide, pathOfPair } from "./file_pairs.ts";
import { EMPTY_BLOB } from "../store/object_store.ts";

/** Parts of 60,000 that are equal in two files that count as a file and its renamed form. */
const MAX_SCORE = 60_000;
const PIECE_BYTES = 64;
const MAX_PAIRS = 1_000_000;
/** Candidates that are kept for each new file. */
const CANDIDATES = 4;

/** Finds renamed files among those that were added and deleted. */
export function findRenames(
  pairs: readonly FilePair[],
  { minPercent = 50, poll, findsCopies = false }: {
    minPercent?: number;
    poll: () => void;
    findsCopies?: boolean;
  },
): FilePair[] {
  const isFile = (side: FileSide | undefined) => side !== undefined && side.id !== EMPTY_BLOB;
  const removed = pairs.filter(({ letter, from }) => letter === "D" && isFile(from));
  const added = pairs.filter(({ letter, to }) => letter === "A" && isFile(to));
  const changed = findsCopies ? pairs.filter(({ letter, from }) => letter === "M" && isFile(from)) : [];
  if (removed.length + changed.length === 0 || added.length === 0) return [...pairs];
  const sources = new Map<FilePair, { readonly source: FilePair; readonly score: number }>();
  const used = new Set<FilePair>();
  const take = (source: FilePair, target: FilePair, score: number) => {
    sources.set(target, { source, score });
    used.add(source);
  };
  takeExact([...removed, ...changed], added, { take, used });
  const minScore = minPercent * MAX_SCORE / 100;
  const pieces = new Pieces();
  if (minPercent < 100) {
    takeByName(removed, added, { take, used, sources, pieces, minScore });
    const left = added.filter((pair) => !sources.has(pair));
    const olds = [...removed.filter((pair) => findsCopies || !used.has(pair)), ...changed];
    if (left.length * olds.length <= MAX_PAIRS) {
      takeSimilar(olds, left, { take, used, sources, pieces, minScore, poll, findsCopies });
    }
  }
  const lastTarget = new Map([...sources].map(([target, { source }]) => [source, target]));
  return pairs.filter((pair) => !(used.has(pair) && pair.letter === "D")).map((pair) => {
    const found = sources.get(pair);
    if (!found) return pair;
    const isCopy = found.source.letter !== "D" || lastTarget.get(found.source) !== pair;
    const similarity = Math.floor(found.score * 100 / MAX_SCORE);
    return { letter: isCopy ? "C" : "R", from: found.source.from, to: pair.to, similarity } as const;
  }).sort((a, b) => pathOfPair(a) < pathOfPair(b) ? -1 : 1);
}

type Take = (source: FilePair, target: FilePair, score: number) => void;

function baseOf(side: FileSide | undefined): string {
  const path = side?.path ?? "";
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Takes files with the same contents, those with the same name first. */
function takeExact(
  removed: readonly FilePair[],
  added: readonly FilePair[],
  { take, used }: { take: Take; used: ReadonlySet<FilePair> },
): void {
  for (const target of added) {
    const isType = (pair: FilePair) =>
      ((pair.from?.mode ?? 0) & 0o170000) === ((target.to?.mode ?? 0) & 0o170000);
    const same = removed.filter((pair) => pair.from?.id === target.to?.id && isType(pair));
    const free = same.filter((pair) => !used.has(pair));
    const named = (list: readonly FilePair[]) =>
      list.find((pair) => baseOf(pair.from) === baseOf(target.to)) ?? list[0];
    const source = named(free) ?? named(same.filter((pair) => pair.letter !== "D"));
    if (source) take(source, target, MAX_SCORE);
  }
}

interface Search {
  readonly take: Take;
  readonly used: Set<FilePair>;
  readonly sources: ReadonlyMap<FilePair, unknown>;
  readonly pieces: Pieces;
  readonly minScore: number;
}

/** Takes files that alone have their name on both sides, if they are similar enough. */
function takeByName(
  removed: readonly FilePair[],
  added: readonly FilePair[],
  { take, used, sources, pieces, minScore }: Search,
): void {
  const unique = (pairs: readonly FilePair[], side: "from" | "to") => {
    const found = new Map<string, FilePair | undefined>();
    for (const pair of pairs) found.set(baseOf(pair[side]), found.has(baseOf(pair[side])) ? undefined : pair);
    return found;
  };
  const olds = unique(removed.filter((pair) => !used.has(pair)), "from");
  const news = unique(added.filter((pair) => !sources.has(pair)), "to");
  const needed = minScore + (MAX_SCORE - minScore) / 2;
  for (const [name, source] of olds) {
    const target = news.get(name);
    if (!source || !target) continue;
    const score = pieces.score(source.from, target.to, needed);
    if (score >= needed) take(source, target, score);
  }
}

function takeSimilar(
  removed: readonly FilePair[],
  added: readonly FilePair[],
  { take, used, sources, pieces, minScore, poll, findsCopies }: Search & {
    poll: () => void;
    findsCopies: boolean;
  },
): void {
  interface Candidate {
    readonly source: FilePair;
    readonly target: FilePair;
    readonly score: number;
    readonly isNamed: boolean;
  }
  const order = (a: Candidate, b: Candidate) => b.score - a.score || Number(b.isNamed) - Number(a.isNamed);
  const candidates = added.flatMap((target) => {
    poll();
    return removed.map((source): Candidate => ({
      source,
      target,
      score: pieces.score(source.from, target.to, minScore),
      isNamed: baseOf(source.from) === baseOf(target.to),
    })).filter(({ score }) => score >= minScore).sort(order).slice(0, CANDIDATES);
  });
  for (const { source, target, score } of candidates.sort(order)) {
    if (!sources.has(target) && source.letter === "D" && !used.has(source)) take(source, target, score);
  }
  if (!findsCopies) return;
  for (const { source, target, score } of candidates) if (!sources.has(target)) take(source, target, score);
}

/** Pieces of files, which are lines or parts of long lines, with their sizes. */
class Pieces {
  readonly #known = new Map<
    FileSide,
    { readonly size: number; readonly pieces: ReadonlyMap<string, number> }
  >();

  /** Returns the part of the larger file, of 60,000, that the other file has too. */
  score(from: FileSide | undefined, to: FileSide | undefined, needed: number): number {
    if (!from || !to || (from.mode & 0o170000) !== (to.mode & 0o170000)) return 0;
    const [old, fresh] = [this.#of(from), this.#of(to)];
    const [small, large] = [Math.min(old.size, fresh.size), Math.max(old.size, fresh.size)];
    if (small === 0 || large * (MAX_SCORE - needed) < (large - small) * MAX_SCORE) return 0;
    let copied = 0;
    for (const [piece, bytes] of old.pieces) copied += Math.min(bytes, fresh.pieces.get(piece) ?? 0);
    return Math.floor(copied * MAX_SCORE / large);
  }

  #of(side: FileSide): { size: number; pieces: ReadonlyMap<string, number> } {
    const known = this.#known.get(side);
    if (known) return known;
    const text = side.read();
    const pieces = new Map<string, number>();
    const isText = !text.slice(0, 8000).includes("\0");
    for (let at = 0; at < text.length;) {
      const line = text.indexOf("\n", at);
      const end = Math.min(at + PIECE_BYTES, line < 0 ? text.length : line + 1, text.length);
      const piece = isText ? text.slice(at, end).replace(/\r\n$/, "\n") : text.slice(at, end);
      pieces.set(piece, (pieces.get(piece) ?? 0) + piece.length);
      at = end;
    }
    const found = { size: text.length, pieces };
    this.#known.set(side, found);
    return found;
  }
}
