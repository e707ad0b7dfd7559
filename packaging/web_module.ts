import { cp as copyFolder } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { generateDtsBundle } from "dts-bundle-generator";
import ts from "typescript";
import manifest from "../deno.json" with { type: "json" };
import { ROOT, run } from "./sources.ts";

/** Options of {@linkcode buildWebModule}. */
export interface WebModuleOptions {
  /** Source, as a path of the repository. */
  readonly entry: string;
  /** Folder of the module. */
  readonly folder: string;
  /** Name of the module's files, without ending. */
  readonly name: string;
  /** Modules that stay imports, by the specifier of the sources. Each is a path relative to the module. */
  readonly external?: Readonly<Record<string, string>>;
  /** Files that take the place of sources; both are paths of the repository. */
  readonly replaced?: Readonly<Record<string, string>>;
}

/** First line of a module: an older Node would fail in the middle of the first call. */
const REQUIRE_NODE_22 =
  'if (typeof Promise.withResolvers !== "function") throw new Error("Cannot run Paddock as it needs Node 22 or later, or a runtime with Promise.withResolvers");';

/**
 * Bundles a source and all that it imports into one ES module of Web APIs, in the JavaScript of Node 22, which lacks
 * `using`. Its types are in one file beside it.
 *
 * @throws {Error} if a source imports a module of Node.
 */
export async function buildWebModule(options: WebModuleOptions): Promise<void> {
  await Deno.mkdir(options.folder, { recursive: true });
  await bundleSources(options);
  await bundleTypes(options);
}

async function bundleSources(
  { entry, folder, name, external = {}, replaced = {} }: WebModuleOptions,
): Promise<void> {
  const file = join(folder, `${name}.js`);
  const url = (path: string) => pathToFileURL(join(ROOT, path)).href;
  const imports = Object.fromEntries(
    Object.entries(manifest.imports).map((
      [specifier, target],
    ) => [specifier, target.startsWith("./") ? url(target) : target]),
  );
  const changed = Object.entries(replaced).map(([from, to]) => [url(from), url(to)]);
  const temporary = await Deno.makeTempDir();
  const map = join(temporary, "import_map.json");
  const version = join(temporary, "deno.json");
  const bundle = (source: string) =>
    run(Deno.execPath(), [
      "bundle",
      "--quiet",
      "--platform=browser",
      `--import-map=${map}`,
      ...Object.entries(external).flat().map((path) => `--external=${path}`),
      `--output=${file}`,
      source,
    ], { cwd: ROOT });
  try {
    const { version: ofPaddock, engines } = manifest;
    await Deno.writeTextFile(version, JSON.stringify({ version: ofPaddock, engines })); // what version.ts reads
    changed.push([url("deno.json"), pathToFileURL(version).href]);
    const importMap = { imports: { ...imports, ...Object.fromEntries(changed) } };
    await Deno.writeTextFile(map, JSON.stringify(importMap));
    await bundle(join(ROOT, entry));
    const { outputText } = ts.transpileModule(await Deno.readTextFile(file), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    await Deno.writeTextFile(
      file,
      Object.entries(external).reduce(
        (text, [from, to]) => text.replaceAll(`"${from}"`, `"${to}"`),
        outputText,
      ),
    );
    await bundle(file);
    const bundled = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, `${REQUIRE_NODE_22}\n${bundled}`);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
  const node = /(?:from|import\(?)\s*"(node:[\w/]+)"/.exec(await Deno.readTextFile(file));
  if (node) throw new Error(`Cannot bundle '${entry}' as it must use Web APIs only: it imports '${node[1]}'`);
}

/** Writes the declarations of a source and all that it imports into one file, which imports the types of zod only. */
async function bundleTypes({ entry, folder, name }: WebModuleOptions): Promise<void> {
  const temporary = await Deno.makeTempDir();
  try {
    const zod = dirname(fileURLToPath(import.meta.resolve("zod")));
    await copyFolder(zod, join(temporary, "node_modules/zod"), { recursive: true });
    const program = ts.createProgram([join(ROOT, entry)], {
      strict: true,
      exactOptionalPropertyTypes: true,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      target: ts.ScriptTarget.ESNext,
      skipLibCheck: true,
      baseUrl: ROOT,
      paths: { "@std/*": ["./src/std/*.d.ts"], zod: [join(temporary, "node_modules/zod/index.d.ts")] },
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      rootDir: ROOT,
      outDir: temporary,
    });
    program.emit(undefined, (path, text) => {
      Deno.mkdirSync(dirname(path), { recursive: true });
      Deno.writeTextFileSync(path, text.replaceAll(/(from |import\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'));
    });
    const config = join(temporary, "tsconfig.json");
    const filePath = join(temporary, entry.replace(/\.ts$/, ".d.ts"));
    const compilerOptions = {
      strict: true,
      module: "esnext",
      moduleResolution: "bundler",
      target: "esnext",
      lib: ["esnext", "dom", "dom.iterable"],
      skipLibCheck: true,
    };
    await Deno.writeTextFile(config, JSON.stringify({ compilerOptions, files: [filePath] }));
    const [types = ""] = generateDtsBundle([{
      filePath,
      output: { noBanner: true, exportReferencedTypes: false },
      libraries: { importedLibraries: ["zod"] },
    }], { preferredConfigPath: config });
    await Deno.writeTextFile(join(folder, `${name}.d.ts`), types);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}
