import { join } from "node:path";
import { seededRandom } from "../src/seeded_random.ts";
import { openIndex } from "../src/viewer/index/run_index.ts";
import { RunFolder } from "../src/viewer/run_folder.ts";
import { viewerApp } from "../src/viewer/viewer_app.tsx";
import type { Row } from "./row.ts";

interface RunSize {
  readonly episodes: number;
  /** Approximate size of a row. */
  readonly rowBytes: number;
  /** Bounds of the cold index and of the first page. */
  readonly bounds?: { readonly coldMs: number; readonly firstMs: number };
}

const SIZES: readonly RunSize[] = [
  { episodes: 100_000, rowBytes: 22_000, bounds: { coldMs: 20_000, firstMs: 300 } },
  { episodes: 1_000_000, rowBytes: 2_000 },
];
const PAGE_MS = 200;
const WORDS = "the model reads a file and prints each value of the list then checks the sum of it".split(" ");

/** Measures the viewer with runs of 2 GB, whose rows all differ: the index, the first page, and further pages. */
export async function viewerRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of SIZES) rows.push(...await measureRun(size));
  return rows;
}

async function measureRun({ episodes, rowBytes, bounds }: RunSize): Promise<Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "paddock-viewer-" });
  try {
    const path = join(folder, "run.jsonl");
    const bytes = await writeRun(path, { episodes, rowBytes });
    const name = `${episodes.toLocaleString("en")} episodes (${(bytes / 1e9).toFixed(1)} GB)`;
    const cold = await timeOf(() => openIndex(path));
    const viewer = viewerApp({ folder: await RunFolder.open(folder) });
    const pageMs = (query: string) =>
      timeOf(async () => {
        const response = await viewer.request(`/runs/run.jsonl${query}`);
        await response.text();
        if (response.status !== 200) {
          throw new Error(`Cannot measure a page: it has status ${response.status}`);
        }
      });
    const first = await pageMs("");
    const bound = (max: number | undefined) => max === undefined ? {} : { bound: max };
    const pages = {
      "a further page": "?page=7",
      "a page sorted by reward": "?sort=reward&order=desc",
      "a filtered page": "?reward=right&tool=timeout",
      "a page with texts": "?texts=1",
      "the groups": "/groups",
      "an episode": `/episodes/${Math.floor(episodes / 2)}`,
    };
    const rows: Row[] = [
      { what: `index of ${name}, cold`, value: cold, unit: "ms", ...bound(bounds?.coldMs) },
      { what: `first page of ${name} with its index`, value: first, unit: "ms", ...bound(bounds?.firstMs) },
    ];
    for (const [what, query] of Object.entries(pages)) {
      rows.push({ what: `${what} of ${name}`, value: await pageMs(query), unit: "ms", bound: PAGE_MS });
    }
    rows.push({ what: `text search in ${name}`, value: await pageMs("?text=nowhere"), unit: "ms" });
    return rows;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Writes a run of samples of eight, with texts, tool calls, tokens and log-probabilities. Returns its size. */
async function writeRun(path: string, { episodes, rowBytes }: RunSize): Promise<number> {
  const random = seededRandom(episodes);
  const encoder = new TextEncoder();
  const pick = (count: number) => Math.floor(random() * count);
  const text = (characters: number) => {
    let written = "";
    while (written.length < characters) {
      written += `${WORDS[pick(WORDS.length)]}${pick(9) ? " " : `.\n"${pick(1e6)}" `}`;
    }
    return written;
  };
  using file = await Deno.open(path, { write: true, createNew: true });
  let bytes = 0;
  let pending: string[] = [];
  for (let at = 0; at < episodes; at++) {
    const turns = 1 + pick(4);
    const share = rowBytes / turns / 4;
    const ids = Array.from({ length: Math.floor(rowBytes / 60) }, () => pick(150_000));
    const lossMask = ids.map(() => pick(2));
    pending.push(JSON.stringify({
      task: { id: `task-${Math.floor(at / 8)}`, query: text(share), answer: `${pick(1e6)}` },
      format: 1,
      sample: at % 8 + 1,
      versions: { paddock: "0.1.0", policy: "model" },
      messages: Array.from({ length: turns }, () => [
        { role: "assistant", content: text(share) },
        { role: "tool", content: text(share) },
      ]).flat(),
      reward: pick(3) === 0 ? 1 : 0,
      rewardParts: { answer: pick(3) === 0 ? 1 : 0, format: pick(100) / 100 },
      turns,
      terminated: true,
      tokens: { ids, lossMask, logProbs: lossMask.map((bit) => bit ? -pick(50_000) / 10_000 : 0) },
      toolResults: [{
        turn: 1,
        call: 1,
        tool: "python",
        status: pick(9) ? "ok" : "timeout",
        durationMs: pick(900),
      }],
      times: { totalMs: pick(20_000), policyMs: 10, envMs: 5 },
    }));
    if (pending.length * rowBytes < 4e6 && at < episodes - 1) continue;
    const part = encoder.encode(`${pending.join("\n")}\n`);
    for (let written = 0; written < part.length;) written += await file.write(part.subarray(written));
    bytes += part.length;
    pending = [];
  }
  return bytes;
}
