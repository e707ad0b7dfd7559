import { join } from "node:path";
import { createImageWriter } from "../src/sandbox/guest/heap_image.ts";
import { ensureBaseImage } from "../src/sandbox/image/base_image.ts";
import { Sandbox } from "../src/sandbox/sandbox.ts";
import { summarize, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const WASM_PAGE_BYTES = 65_536;
const EMPTY_MODULE = "data:text/javascript,Deno.exit(0)";
const EMPTY_WORKER = "data:text/javascript,postMessage(0)";

/**
 * Measures the parts of a cold start, each alone: some of them overlap in a real one. Hashes are computed only if a
 * file of the image has changed.
 */
export async function startRows(setup: BenchSetup): Promise<Row[]> {
  const image = await ensureBaseImage(setup.profile, setup);
  const { wasm, library, factory, image: heap } = image.manifest;
  if (!heap) throw new Error("Cannot measure a start as the image must have a heap");
  const pathOf = ({ path }: { path: string }) => join(image.directory, path);
  const files = [wasm, library, factory, heap].map(pathOf);
  const read = () => Promise.all(files.map((path) => Deno.readFile(path)));
  const contents = await read();
  const code = await Deno.readFile(pathOf(wasm));
  const data = await Deno.readFile(pathOf(heap));
  const pages = Math.ceil(data.length / WASM_PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  new Uint8Array(memory.buffer).set(data);
  const parts: Record<string, () => Promise<unknown>> = {
    "a Deno process with an empty module": startDeno,
    "a Deno worker with an empty module": startWorker,
    "session without layers of the operating system": () => startWithoutLayers(setup),
    "read the files of the image": read,
    "SHA-256 of these files": () =>
      Promise.all(contents.map((bytes) => crypto.subtle.digest("SHA-256", bytes))),
    "compile CPython's module": () => Promise.resolve(new WebAssembly.Module(code)),
    "write the heap of the image": () => {
      const initial = Math.ceil(heap.heapBytes / WASM_PAGE_BYTES);
      const python = new WebAssembly.Memory({ initial });
      createImageWriter(python, { ...heap, memory })({ used: false });
      return Promise.resolve();
    },
  };
  const rows: Row[] = [];
  for (const [what, work] of Object.entries(parts)) {
    const times = await timings(work, { runs: 9 * setup.effort, warmup: 2 });
    rows.push({ what: `part of a start: ${what}`, ...summarize(times), unit: "ms" });
  }
  return rows;
}

async function startDeno(): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-config", "--no-lock", EMPTY_MODULE],
    env: { DENO_DIR: "/proc/nope", DENO_NO_UPDATE_CHECK: "1" },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error("Cannot measure a start as Deno must run an empty module");
}

async function startWorker(): Promise<void> {
  const worker = new Worker(EMPTY_WORKER, { type: "module" });
  await new Promise((resolve) => worker.addEventListener("message", resolve, { once: true }));
  worker.terminate();
}

async function startWithoutLayers(setup: BenchSetup): Promise<void> {
  await using sandbox = await Sandbox.start({ ...poolOptions(setup), detected: [] });
  await sandbox.openSession();
}
