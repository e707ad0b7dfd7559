import { join } from "node:path";
import { parseArgs } from "node:util";
import { sha256 } from "../src/hash.ts";
import { wheelFolder, WHEELS } from "../src/rewards/math/math_verify/wheels.ts";
import { writeText } from "../src/cli/output.ts";
import { cacheDirectory } from "../src/cli/sandbox_options.ts";

/**
 * Downloads the wheels of `math({ verifier: "math-verify" })` with pip, whose own configuration names the package
 * index. pip accepts no file with another hash, no source archive and no further package.
 *
 *     deno task fetch-math-verify [--cache-dir DIR] [--pip "python3 -m pip"]
 */

/** Commands that start pip, in the order in which they are tried. */
const PIPS = ["python3 -m pip", "uv tool run pip", "pip"];

/** Returns the lines of a requirements file that allows the wheels and nothing else. */
function wheelRequirements(): string {
  return WHEELS.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`).join("");
}

async function download(folder: string, pips: readonly string[]): Promise<void> {
  const [program = "", ...args] = (await findPip(pips)).split(" ");
  const temporary = await Deno.makeTempDir();
  try {
    const requirements = join(temporary, "requirements.txt");
    await Deno.writeTextFile(requirements, wheelRequirements());
    const options = ["--no-deps", "--require-hashes", "--only-binary", ":all:"];
    const { success } = await new Deno.Command(program, {
      args: [...args, "download", ...options, "--requirement", requirements, "--dest", temporary],
    }).spawn().status;
    if (!success) {
      throw new Error("Cannot fetch math-verify as pip must succeed: it reported the error above");
    }
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    for (const { file, sha256: expected } of WHEELS) {
      const bytes = await Deno.readFile(join(temporary, file));
      const digest = await sha256(bytes);
      if (digest !== expected) {
        throw new Error(
          `Cannot fetch math-verify as the hash of '${file}' must be ${expected}: it is ${digest}`,
        );
      }
      await Deno.writeFile(join(folder, file), bytes);
    }
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

async function findPip(pips: readonly string[]): Promise<string> {
  for (const pip of pips) {
    const [program = "", ...args] = pip.split(" ");
    try {
      const { success } = await new Deno.Command(program, { args: [...args, "--version"] }).output();
      if (success) return pip;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new Error(
    `Cannot fetch math-verify as pip is needed: tried '${pips.join("', '")}'; name another one with --pip`,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { "cache-dir": { type: "string" }, pip: { type: "string" } } });
  const folder = wheelFolder(cacheDirectory(values["cache-dir"]));
  await download(folder, values.pip === undefined ? PIPS : [values.pip]);
  await writeText(Deno.stdout, `The wheels of math-verify are in ${folder}\n`);
}
