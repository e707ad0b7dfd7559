// deno-lint-ignore-file no-console -- a command prints
/**
 * Builds the documentation as a site of static pages, and checks its links.
 *
 *     deno task docs [--out DIR]
 *
 * The site of this version is written to a folder of its name. Other versions in the same folder stay, and are listed
 * by `versions.html`.
 */
import { parseArgs } from "node:util";
import { join } from "node:path";
import { ROOT, run } from "../../packaging/sources.ts";
import { formatDuration } from "../../tests/run_suite.ts";
import { PADDOCK_VERSION } from "../../src/version.ts";
import { writeApi } from "./api.ts";
import { checkSite } from "./check_site.ts";
import type { GeneratorInput } from "./generator.ts";
import { renderVersions } from "./layout.ts";
import { SECTIONS } from "./navigation.ts";
import { collectPages } from "./pages.ts";
import { referencePages } from "./reference.ts";

/** Number of faults that are printed. */
const MAX_FAULTS = 50;
const FOLDER = import.meta.dirname ?? ".";

/** Options of {@linkcode buildSite}. */
export interface BuildOptions {
  /** Folder of all versions. */
  readonly out: string;
  readonly version: string;
}

/** Builds the pages of a version into a folder of its name, and the list of the versions beside it. */
export async function buildSite({ out, version }: BuildOptions): Promise<void> {
  const output = join(out, version);
  await Deno.remove(output, { recursive: true }).catch(ignoreMissing);
  await copyAssets(join(output, "assets"));
  const entries = await writeApi(join(output, "api"));
  const generated = await referencePages();
  const pages = await collectPages(ROOT, { sections: SECTIONS, generated });
  const work = await Deno.makeTempDir();
  try {
    const input = join(work, "input");
    await Deno.mkdir(input);
    const site = { version, sections: SECTIONS };
    const job: GeneratorInput = { site, pages, entries, input, output };
    await Deno.writeTextFile(join(work, "job.json"), JSON.stringify(job));
    await runGenerator(join(work, "job.json"), [work, output]);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  const versions = await listVersions(out);
  await Deno.writeTextFile(join(out, "versions.html"), renderVersions(versions, { forward: false }));
  await Deno.writeTextFile(join(out, "index.html"), renderVersions(versions, { forward: true }));
}

/** Runs the generator with the packages of its lock file. It can write to the given folders only. */
async function runGenerator(job: string, folders: readonly string[]): Promise<void> {
  await run(Deno.execPath(), [
    "run",
    "--no-config",
    "--unstable-raw-imports",
    `--lock=${join(FOLDER, "deno.lock")}`,
    "--frozen",
    "--no-prompt",
    "--allow-read",
    `--allow-write=${folders.join(",")}`,
    "--allow-env",
    "--allow-sys",
    join(FOLDER, "generator.ts"),
    job,
  ], { cwd: folders[0] ?? "." });
}

async function copyAssets(target: string): Promise<void> {
  await Deno.mkdir(target, { recursive: true });
  for (const folder of [join(FOLDER, "assets"), join(ROOT, "docs")]) {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile && /\.(?:css|js|png|svg)$/.test(name)) {
        await Deno.copyFile(join(folder, name), join(target, name));
      }
    }
  }
}

/** Returns the versions in a folder, newest first. */
async function listVersions(out: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(out)) if (isDirectory) names.push(name);
  return names.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { out: { type: "string", default: join(ROOT, "dist/docs") } } });
  const startedAt = performance.now();
  await buildSite({ out: values.out, version: PADDOCK_VERSION });
  const { pages, links, faults } = await checkSite(values.out);
  for (const { page, message } of faults.slice(0, MAX_FAULTS)) console.error(`${page} ${message}`);
  const duration = formatDuration(performance.now() - startedAt);
  console.log(`${pages} pages with ${links} links in ${duration}: ${join(values.out, "index.html")}`);
  if (faults.length > 0) console.error(`${faults.length} faults`);
  return faults.length > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main());
