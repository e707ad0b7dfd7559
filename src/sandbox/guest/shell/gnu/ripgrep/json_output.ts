import { bytesOf, byteText } from "../command.ts";
import type { SearchText, Selection } from "./search.ts";
import type { RipgrepSettings } from "./settings.ts";

interface Counts {
  searches: number;
  searchesWithMatch: number;
  bytesSearched: number;
  bytesPrinted: number;
  matchedLines: number;
  matches: number;
}

/** Prints what was found as the lines of `rg --json`. */
export class JsonOutput {
  readonly #settings: RipgrepSettings;
  readonly #print: (text: string) => void;
  readonly #startedMs = performance.now();
  readonly #total: Counts = newCounts();

  constructor(settings: RipgrepSettings, print: (text: string) => void) {
    this.#settings = settings;
    this.#print = print;
  }

  printFile(name: string, source: SearchText, selected: readonly Selection[]): void {
    if (selected.length === 0) return;
    const startedMs = performance.now();
    const counts = newCounts();
    counts.searches = 1;
    counts.bytesSearched = source.encode(source.text).length;
    const path = dataOf(name);
    const printed = [this.#line("begin", { path }), ...this.#lines(path, source, selected)].join("");
    this.#print(printed);
    counts.searchesWithMatch = 1;
    counts.bytesPrinted = printed.length;
    counts.matchedLines = selected.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    counts.matches = selected.reduce((sum, { matches }) => sum + matches.length, 0);
    const stats = statsOf(counts, performance.now() - startedMs);
    this.#print(this.#line("end", { path, binary_offset: null, stats }));
    for (const key of Object.keys(counts) as (keyof Counts)[]) this.#total[key] += counts[key];
  }

  printSummary(): void {
    const ms = performance.now() - this.#startedMs;
    const data = { elapsed_total: elapsed(ms), stats: statsOf(this.#total, ms) };
    this.#print(`${JSON.stringify({ data, type: "summary" })}\n`);
  }

  #line(type: string, data: object): string {
    return `${byteText(JSON.stringify({ type, data }))}\n`;
  }

  *#lines(path: object, source: SearchText, selected: readonly Selection[]): Generator<string> {
    const { before, after } = this.#settings;
    let next = 0;
    for (const [at, { first, last, matches }] of selected.entries()) {
      for (let line = Math.max(next, first - before); line < first; line++) {
        yield this.#context(path, source, line);
      }
      const text = source.lines.slice(first, last + 1).join("");
      yield this.#line("match", {
        path,
        ...this.#place(source, first, text),
        submatches: matches.map(({ start, end, groups }) => {
          const from = source.encode(text.slice(0, start)).length;
          const match = dataOf(source.encode(groups[0]));
          return { match, start: from, end: from + source.encode(text.slice(start, end)).length };
        }),
      });
      next = Math.min(selected[at + 1]?.first ?? source.lines.length, last + 1 + after);
      for (let line = last + 1; line < next; line++) yield this.#context(path, source, line);
    }
  }

  #context(path: object, source: SearchText, line: number): string {
    return this.#line("context", {
      path,
      ...this.#place(source, line, source.lines[line] ?? ""),
      submatches: [],
    });
  }

  #place({ text, starts, encode }: SearchText, line: number, lines: string): object {
    return {
      lines: dataOf(encode(lines)),
      line_number: line + 1,
      absolute_offset: encode(text.slice(0, starts[line] ?? 0)).length,
    };
  }
}

function newCounts(): Counts {
  return {
    searches: 0,
    searchesWithMatch: 0,
    bytesSearched: 0,
    bytesPrinted: 0,
    matchedLines: 0,
    matches: 0,
  };
}

function statsOf(counts: Counts, ms: number): object {
  return {
    elapsed: elapsed(ms),
    searches: counts.searches,
    searches_with_match: counts.searchesWithMatch,
    bytes_searched: counts.bytesSearched,
    bytes_printed: counts.bytesPrinted,
    matched_lines: counts.matchedLines,
    matches: counts.matches,
  };
}

function elapsed(ms: number): object {
  const nanos = Math.round(ms * 1e6);
  return { secs: Math.floor(nanos / 1e9), nanos: nanos % 1e9, human: `${(nanos / 1e9).toFixed(6)}s` };
}

/** A text as `{ text }`, or as `{ bytes }` in base64 if it is no UTF-8. */
function dataOf(bytes: string): object {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytesOf(bytes)) };
  } catch {
    return { bytes: btoa(bytes) };
  }
}
