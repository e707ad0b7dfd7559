import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { ROOT, run } from "../../../packaging/sources.ts";
import { readParquet } from "../../../src/datasets/parquet.ts";

/** Folder of the environment and of the files. Git ignores it. */
const HOME = join(ROOT, ".paddock", "parquet");
const PACKAGES = ["pyarrow==26.0.1", "duckdb==2.0.1"];
/** Number of differences that are printed. */
const MAX_SHOWN = 20;

/** Writes the files with pyarrow and DuckDB, and returns their folder. */
async function writeFiles(): Promise<string> {
  const folder = join(HOME, "files");
  const python = join(HOME, "venv", "bin", "python");
  await Deno.remove(folder, { recursive: true }).catch(() => {}); // there may be none yet
  await Deno.mkdir(folder, { recursive: true });
  await run("python3", ["-m", "venv", join(HOME, "venv")]);
  await run(python, ["-m", "pip", "install", "--quiet", ...PACKAGES]);
  await run(python, [join(import.meta.dirname ?? "", "oracle.py"), folder]);
  return folder;
}

async function rowsOf(path: string): Promise<unknown> {
  try {
    return await Array.fromAsync(readParquet(path), ({ value }) => value());
  } catch (error) {
    return String(error);
  }
}

Deno.test("readParquet() reads each type, encoding and compression as pyarrow and DuckDB do", async () => {
  const folder = await writeFiles();
  const different: string[] = [];
  let count = 0;
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".parquet")) continue;
    count++;
    const path = join(folder, name);
    const expected = JSON.parse(await Deno.readTextFile(path.replace(/parquet$/, "json")));
    const rows = await rowsOf(path);
    const [found, wanted] = [JSON.stringify(rows), JSON.stringify(expected)];
    if (found !== wanted) {
      different.push(`${name}\n  found ${found.slice(0, 300)}\n  wanted ${wanted.slice(0, 300)}`);
    }
  }
  assertEquals(different.slice(0, MAX_SHOWN), [], `${different.length} of ${count} files differ`);
  assert(count > 4000, `only ${count} files`);
});
