import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { writeText } from "../../src/cli/output.ts";
import { copySources, ROOT, run } from "../sources.ts";

/**
 * Builds the wheel of PyPI: the command `paddock`, which runs the sources in the Deno of PyPI's package `deno`, a
 * server for scripts, and the clients.
 *
 *     deno task package:python [--out dist/python] [--python python3]
 */

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist/python") },
    python: { type: "string", default: "python3" },
  },
});
const folder = values.out;
await Deno.remove(folder, { recursive: true }).catch(() => {}); // usually there is none
await Deno.mkdir(folder, { recursive: true });
const project = await Deno.makeTempDir({ prefix: "paddock-wheel-" });
try {
  await writeProject(project);
  await run(values.python, ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, project]);
} finally {
  await Deno.remove(project, { recursive: true });
}
for await (const { name } of Deno.readDir(folder)) await writeText(Deno.stdout, `${join(folder, name)}\n`);

/** Writes what the wheel is built from: the package, with the sources in it, and its metadata. */
async function writeProject(project: string): Promise<void> {
  const here = join(ROOT, "packaging/python");
  const paddock = join(project, "paddock");
  await copyFiles(join(here, "paddock"), paddock);
  const digest = await copySources(join(paddock, "_sources"));
  await Deno.writeTextFile(join(paddock, "_sources/digest"), digest);
  for (const name of ["README.md", "LICENSE"]) await Deno.copyFile(join(ROOT, name), join(project, name));
  const metadata = await Deno.readTextFile(join(here, "pyproject.toml"));
  const complete = [`version = "${manifest.version}"`, 'readme = "README.md"', 'license-files = ["LICENSE"]'];
  await Deno.writeTextFile(
    join(project, "pyproject.toml"),
    metadata.replace('version = "0.0.0"', complete.join("\n")),
  );
}

/** Copies the files of a folder, without those in folders. */
async function copyFiles(from: string, to: string): Promise<void> {
  for await (const { name, isFile } of Deno.readDir(from)) {
    if (!isFile) continue;
    await Deno.mkdir(dirname(join(to, name)), { recursive: true });
    await Deno.copyFile(join(from, name), join(to, name));
  }
}
