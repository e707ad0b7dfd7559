import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sha256 } from "../src/hash.ts";

export { DENO_VERSION } from "../src/version.ts";

/** Root of the repository. */
export const ROOT: string = fileURLToPath(new URL("..", import.meta.url));

/** Files and folders that a package needs to run Paddock from its sources. */
const SOURCES = ["deno.json", "deno.lock", "LICENSE", "mod.ts", "mod", "sandboxes", "src"];

/** Returns the paths of the sources, relative to the root, in order. */
export async function listSources(): Promise<string[]> {
  return (await Promise.all(SOURCES.map(filesBelow))).flat().sort();
}

/** Copies the sources to a folder. Returns a digest of their names and contents. */
export async function copySources(target: string): Promise<string> {
  const hashes: string[] = [];
  for (const path of await listSources()) {
    const bytes = await Deno.readFile(join(ROOT, path));
    hashes.push(`${path} ${await sha256(bytes)}`);
    await Deno.mkdir(dirname(join(target, path)), { recursive: true });
    await Deno.writeFile(join(target, path), bytes);
  }
  return await sha256(hashes.join("\n"));
}

/** Returns the paths of the files at or below a path of the repository. */
async function filesBelow(path: string): Promise<string[]> {
  if ((await Deno.stat(join(ROOT, path))).isFile) return [path];
  const entries = await Array.fromAsync(Deno.readDir(join(ROOT, path)));
  const below = entries.filter(({ name }) => !name.startsWith(".") && name !== "__pycache__");
  return (await Promise.all(below.map(({ name }) => filesBelow(`${path}/${name}`)))).flat();
}

/** Runs a program to its end. Throws with its output if it fails. */
export async function run(program: string, args: string[], options?: Deno.CommandOptions): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, ...options }).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(
    `'${program} ${args.join(" ")}' failed:\n${decoder.decode(stdout)}${decoder.decode(stderr)}`,
  );
}
