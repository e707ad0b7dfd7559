/**
 * Writes the TypeScript of the .proto files of E2B's envd, with buf and protoc-gen-es, which are fetched. Comments are
 * removed: the .proto files have them.
 *
 * @module
 */
const PACKAGES = ["@bufbuild/buf@1.75.0", "@bufbuild/protoc-gen-es@2.13.0"];
const FOLDER = new URL("../src/server/peers/e2b/envd/", import.meta.url).pathname;

/** Runs a command and throws if it fails. */
async function run(command: string, args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(command, { args: [...args] }).spawn().status;
  if (!success) throw new Error(`Cannot run '${command} ${args.join(" ")}': it failed`);
}

const out = await Deno.makeTempDir();
const plugin = { local: "protoc-gen-es", out, opt: ["target=ts", "import_extension=ts"] };
const template = JSON.stringify({ version: "v2", plugins: [plugin] });
const packages = PACKAGES.flatMap((name) => ["-p", name]);
await run("npx", ["-y", ...packages, "buf", "generate", FOLDER, "--template", template]);
for await (const { name } of Deno.readDir(out)) {
  if (!name.endsWith("_pb.ts")) continue;
  const text = await Deno.readTextFile(`${out}/${name}`);
  const source = name.replace("_pb.ts", ".proto");
  const head =
    `// Generated from ${source} by \`deno task e2b-proto\`: do not edit.\n// deno-lint-ignore-file\n`;
  const code = text.replace(/^(\/\/|\/\* eslint).*\n/gm, "").replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, "");
  await Deno.writeTextFile(FOLDER + name, head + code.replace(/\n\n+/g, "\n"));
  await run(Deno.execPath(), ["fmt", "--quiet", FOLDER + name]);
}
await Deno.remove(out, { recursive: true });
