import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { TempFolder } from "../temp_folder.ts";

const LAUNCHER = new URL("../../src/cli.ts", import.meta.url);
const NAMES = ["one", "two", "three"];

/** Returns a file of a tar archive, with the header that every reader of tar takes. */
function tarFile(name: string, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, "0") + "\0";
  const fields = [
    name.padEnd(100, "\0"),
    octal(0o644, 8),
    octal(0, 8),
    octal(0, 8),
    octal(bytes.length, 12),
    octal(0, 12),
  ].join("");
  const rest = `0${"\0".repeat(100)}ustar\u000000`.padEnd(356, "\0");
  const sum = [...`${fields}        ${rest}`].reduce((sum, character) => sum + character.charCodeAt(0), 0);
  const archive = new Uint8Array(512 + Math.ceil(bytes.length / 512) * 512);
  archive.set(new TextEncoder().encode(`${fields}${octal(sum, 7)} ${rest}`));
  archive.set(bytes, 512);
  return archive;
}

async function packageOf(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const manifest = JSON.stringify({ name, version: "1.0.0", type: "module", main: "main.js" });
  const files = [
    tarFile("package/package.json", manifest),
    tarFile("package/main.js", "export default 1;\n"),
  ];
  const archive = new Blob([...files.map((file) => new Uint8Array(file)), new Uint8Array(1024)]);
  return new Uint8Array(
    await new Response(archive.stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
}

/** A registry of npm on loopback. */
class Registry implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  private constructor(
    packages: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
    integrity: Map<string, string>,
  ) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const { pathname, origin } = new URL(request.url);
      this.requests.push(pathname);
      const [name = "", , file] = pathname.slice(1).split("/");
      const bytes = packages.get(name);
      if (bytes === undefined) return new Response(null, { status: 404 });
      if (file !== undefined) return new Response(bytes);
      const dist = { tarball: `${origin}/${name}/-/${name}-1.0.0.tgz`, integrity: integrity.get(name) };
      const version = { name, version: "1.0.0", main: "main.js", dist };
      return Response.json({ name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } });
    });
  }

  static async start(): Promise<{ registry: Registry; lock: string }> {
    const packages = new Map(
      await Promise.all(NAMES.map(async (name) => [name, await packageOf(name)] as const)),
    );
    const integrity = new Map<string, string>();
    for (const [name, bytes] of packages) {
      const digest = Buffer.from(await crypto.subtle.digest("SHA-512", bytes)).toString("base64");
      integrity.set(name, `sha512-${digest}`);
    }
    const specifiers = Object.fromEntries(NAMES.map((name) => [`npm:${name}@1.0.0`, "1.0.0"]));
    const npm = Object.fromEntries(
      NAMES.map((name) => [`${name}@1.0.0`, { integrity: integrity.get(name) }]),
    );
    return {
      registry: new Registry(packages, integrity),
      lock: JSON.stringify({ version: "5", specifiers, npm }),
    };
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A clone with the real launcher and a command line that imports the packages of the registry. */
async function cloneOf(lock: string): Promise<TempFolder> {
  const imports = NAMES.map((name) => `import ${name} from "npm:${name}@1.0.0";`).join("\n");
  const code = `${imports}
export function main(): never {
  console.log("sum", ${NAMES.join(" + ")}, ...Deno.args);
  Deno.exit(7);
}
`;
  return await TempFolder.of({
    "src/cli.ts": await Deno.readTextFile(LAUNCHER),
    "src/cli/main.ts": code,
    "src/cli/commands.ts": `import "./main.ts";\n`,
    "src/cli/process/hangup.ts": await Deno.readTextFile(new URL("./cli/process/hangup.ts", LAUNCHER)),
    "src/cli/process/parent_process.ts": await Deno.readTextFile(
      new URL("./cli/process/parent_process.ts", LAUNCHER),
    ),
    "src/deno.json": "{}",
    "src/deno.lock": lock,
  });
}

async function start(clone: TempFolder, registry: string) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(clone.path, "src/cli.ts"), "x"],
    cwd: clone.path,
    env: { DENO_DIR: join(clone.path, "cache"), NPM_CONFIG_REGISTRY: registry, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("the first start prints one line about its packages, and later starts none", async () => {
  const { registry, lock } = await Registry.start();
  await using _registry = registry;
  await using clone = await cloneOf(lock);
  const first = await start(clone, registry.url);
  assertMatch(first.stderr, /^Downloaded the packages of Paddock \(once\): 3 in \d+\.\d s\n$/);
  assertEquals([first.stdout, first.code], ["sum 3 x\n", 7]);
  registry.requests.length = 0;
  const second = await start(clone, registry.url);
  assertEquals([second.stderr, second.stdout, second.code], ["", "sum 3 x\n", 7]);
  assertEquals(registry.requests, []);
  await Deno.utime(join(clone.path, "src/deno.lock"), 1, 1);
  assertEquals((await start(clone, registry.url)).stderr, "", "another lock file whose packages are there");
  await Deno.remove(join(clone.path, "cache"), { recursive: true });
  assertStringIncludes((await start(clone, registry.url)).stderr, "(once): 3 in");
});

Deno.test("the first start prints the whole error of a download, and no lines of packages", async () => {
  const { registry, lock } = await Registry.start();
  const { url } = registry;
  await registry[Symbol.asyncDispose]();
  await using clone = await cloneOf(lock);
  const { code, stdout, stderr } = await start(clone, url);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "error: ");
  assertStringIncludes(stderr, "Connection refused");
  assertEquals(stderr.includes("Download "), false);
});

Deno.test("the first start ends with the npx that runs it, in the middle of a download", async () => {
  const { registry, lock } = await Registry.start();
  await registry[Symbol.asyncDispose]();
  await using clone = await cloneOf(lock);
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
  await using slow = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked.resolve();
    return released.promise;
  });
  // npx names its process so
  const script = `exec -a "npm exec x" bash -c '"$0" "$@"; true' "$@"`;
  const child = new Deno.Command("bash", {
    args: ["-c", script, "bash", Deno.execPath(), "run", "-A", "--no-check", join(clone.path, "src/cli.ts")],
    cwd: clone.path,
    env: { DENO_DIR: join(clone.path, "cache"), NPM_CONFIG_REGISTRY: `http://127.0.0.1:${slow.addr.port}/` },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await asked.promise;
  child.kill("SIGKILL");
  await child.output(); // when the last process has closed its output
  released.resolve(new Response(null, { status: 404 }));
});

Deno.test("the command line's first module imports no package, and the second one no command", async () => {
  assertEquals(await loadedBy(LAUNCHER), [LAUNCHER.href, new URL("./cli/process/hangup.ts", LAUNCHER).href]);
  const main = new URL("./cli/main.ts", LAUNCHER);
  const loaded = (await loadedBy(main)).map((url) => url.replace(new URL(".", LAUNCHER).href, ""));
  assertEquals([loaded.includes("cli/paddock.ts"), loaded.includes("cli/exec.ts")], [true, false]);
  assertEquals(loaded.filter((url) => /^cli\/.*_command\.ts$|^(server|rollout|gateway)\//.test(url)), [
    "cli/run_command.ts",
  ]);
});

/** Returns the URLs of the modules that Deno loads with a module, without those that have only types. */
async function loadedBy(entry: URL): Promise<string[]> {
  const args = ["info", "--json", "--no-remote", decodeURIComponent(entry.pathname)];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  const { modules }: Graph = JSON.parse(new TextDecoder().decode(stdout));
  const loaded = new Set([entry.href]);
  for (const url of loaded) {
    const { dependencies = [] } = modules.find(({ specifier }) => specifier === url) ?? {};
    for (const { code } of dependencies) if (code?.specifier !== undefined) loaded.add(code.specifier);
  }
  return [...loaded];
}

/** What `deno info` says about modules: `code` names one that is loaded, and not only its types. */
interface Graph {
  readonly modules: readonly {
    specifier: string;
    dependencies?: readonly { code?: { specifier?: string } }[];
  }[];
}
