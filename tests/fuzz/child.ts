// Fuzzes one target until it is killed: arguments are the target, the seed, the first number of an input, and a file to
// which each input is written before it runs, so that the parent knows the input that ends or holds up this process.
import { Corpus } from "./corpus.ts";
import { InputSource, minimize, runInput } from "./fuzzer.ts";
import { loadTarget } from "./targets.ts";

/** What this process prints, one a line. */
export type Report =
  | { readonly type: "progress"; readonly inputs: number; readonly kinds: number }
  | {
    readonly type: "kind" | "failure";
    readonly input: string;
    readonly note: string;
    readonly message: string;
  };

const PROGRESS_MS = 1_000;

const [name = "", seed = "0", first = "0", currentPath = ""] = Deno.args;
const target = await loadTarget(name);
const corpus = (await Corpus.read(name, target)).inputs;
const source = new InputSource(target, Number(seed), corpus.map(({ input }) => input));
const current = await Deno.open(currentPath, { write: true });
const seen = new Set<string>();
let lastProgress = performance.now();

for (const { input } of corpus) await tryInput(input, -1, { isKept: true });
for (let index = Number(first);; index++) {
  await tryInput(source.at(index), index, { isKept: false });
  if (performance.now() - lastProgress < PROGRESS_MS) continue;
  lastProgress = performance.now();
  print({ type: "progress", inputs: index + 1, kinds: seen.size });
}

async function tryInput(input: Uint8Array, index: number, { isKept }: { isKept: boolean }): Promise<void> {
  writeCurrent(index, input);
  const outcome = await runInput(target, input);
  if ("failure" in outcome) {
    const { key, message } = outcome.failure;
    if (seen.has(key)) return;
    seen.add(key);
    const isSame = async (smaller: Uint8Array) => {
      const found = await runInput(target, smaller);
      return "failure" in found && found.failure.key === key;
    };
    const least = key === "slow" ? input : await minimize(input, { isSame });
    print({ type: "failure", input: least.toBase64(), note: key, message });
  } else if (!seen.has(outcome.kind)) {
    seen.add(outcome.kind);
    if (isKept) return;
    source.add(input);
    const isSame = async (smaller: Uint8Array) => {
      const found = await runInput(target, smaller);
      return "kind" in found && found.kind === outcome.kind;
    };
    const least = await minimize(input, { isSame, trials: 60 });
    print({ type: "kind", input: least.toBase64(), note: outcome.kind, message: "" });
  }
}

/** Writes the number of an input and the input over those of the one before. */
function writeCurrent(index: number, input: Uint8Array): void {
  const bytes = new Uint8Array(8 + input.length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, index, true);
  view.setUint32(4, input.length, true);
  bytes.set(input, 8);
  current.seekSync(0, Deno.SeekMode.Start);
  current.writeSync(bytes);
}

function print(report: Report): void {
  const line = new TextEncoder().encode(`${JSON.stringify(report)}\n`);
  for (let done = 0; done < line.length;) done += Deno.stdout.writeSync(line.subarray(done));
}
