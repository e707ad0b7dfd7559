import { assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { childrenCpuMs } from "../../bench/processes.ts";
import { run } from "../../packaging/sources.ts";
import { writeText } from "../../src/cli/output.ts";
import { TempFolder } from "../temp_folder.ts";
import { freePort, install } from "./npm.ts";

/** Programs of npm that the checks run, with their versions. */
const TOOLS = ["node@22.23.3", "publint@0.3.25", "@arethetypeswrong/cli@0.18.5", "typescript@5.9.3"];
/** Runtimes that import the client, each in a folder of its own, as npm keeps one version of a package. */
const RUNTIMES = [
  { install: "node@22.23.3", command: ["node_modules/.bin/node"] },
  { install: "node@24.9.0", command: ["node_modules/.bin/node"] },
  { install: "bun@1.4.5", command: ["node_modules/.bin/bun", "run"] },
];
/** A registry on loopback. Its dependencies name a tag that not every mirror has. */
const REGISTRY = "verdaccio@6.10.4";
const NODE_FETCH = { "node-fetch": "2.7.0", "node-fetch-cjs": "npm:node-fetch@2.7.0" };
/** CPU time that the launcher adds to a start. */
const LAUNCHER_CPU_MS = 300;

const CLIENT = `
import { PaddockClient } from "@paddock/paddock/client";
const [url, token] = process.argv.slice(2);
const client = new PaddockClient({ url, token });
const lease = await client.acquire();
await lease.session.writeFile("in.bin", new Uint8Array([1, 2, 3]));
const result = await lease.session.exec("open('in.bin', 'rb').read()");
console.log(result.value);
await lease[Symbol.asyncDispose]();
`;

const TYPES = `
import { PaddockClient } from "@paddock/paddock/client";
const lease = await new PaddockClient({ url: "http://127.0.0.1:1" }).acquire();
const { status }: { status: string } = await lease.session.exec("1");
console.log(status);
`;

/** Builds the package, and returns its archive. */
async function pack(folder: string): Promise<string> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  await run(Deno.execPath(), ["task", "--cwd", root, "package:npm", "--out", join(folder, "package")]);
  const name = await run("npm", ["pack", "--pack-destination", folder], { cwd: join(folder, "package") });
  return join(folder, name.trim().split("\n").at(-1) ?? "");
}

async function stop(server: Deno.ChildProcess): Promise<void> {
  try {
    server.kill("SIGTERM");
  } catch {
    // it has ended
  }
  await server.status;
}

/** Waits until a server prints a line that matches, and returns the match. */
async function waitForLine(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream()).values({ preventCancel: true })) {
    text += piece;
    const match = pattern.exec(text);
    if (match) return match;
  }
  throw new Error(`a server ended: ${text}`);
}

Deno.test({
  name: "the npm package runs from a registry in an empty home, and its client in Node and Bun",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    await using temp = await TempFolder.of();
    const folder = (name: string) => Deno.mkdir(join(temp.path, name)).then(() => join(temp.path, name));
    const archive = await pack(await folder("build"));
    const tools = await folder("tools");
    await install(tools, TOOLS);
    const bin = (name: string) => join(tools, "node_modules/.bin", name);
    const home = await folder("home");
    const env = { HOME: home, PATH: `${dirname(bin("node"))}:/usr/bin:/bin` };

    await t.step("publint and arethetypeswrong find nothing", async () => {
      assertMatch(await run(bin("publint"), [join(temp.path, "build/package")]), /All good!/);
      await run(bin("attw"), [archive, "--profile", "esm-only"]);
    });

    await t.step("npx runs the command from a registry on loopback", async () => {
      const registry = await folder("registry");
      await install(registry, [REGISTRY], NODE_FETCH);
      await Deno.writeTextFile(
        join(registry, "config.yaml"),
        `storage: ${registry}/storage
packages: { "@paddock/*": { access: $all, publish: $all }, "**": { access: $all, proxy: npm } }
uplinks: { npm: { url: ${(await run("npm", ["config", "get", "registry"])).trim()} } }
auth: { htpasswd: { file: ${registry}/htpasswd } }
log: { type: stdout, format: pretty, level: warn }
`,
      );
      const port = freePort();
      const server = new Deno.Command(bin("node"), {
        args: ["node_modules/.bin/verdaccio", "--config", "config.yaml", "--listen", `127.0.0.1:${port}`],
        cwd: registry,
        stdout: "piped",
        stderr: "null",
      }).spawn();
      try {
        const [url = ""] = await waitForLine(server.stdout, /http:\/\/127\.0\.0\.1:\d+/);
        const login = `--${url.slice("http:".length)}/:_authToken=none`;
        await run("npm", ["publish", archive, "--registry", url, login, "--access", "public"]);
        const args = ["-y", "--registry", url, "@paddock/paddock", "exec", "-e", "print(6*7)"];
        const startedAt = performance.now();
        assertEquals(await run("npx", args, { cwd: home, env }), "42\n");
        await writeText(
          Deno.stdout,
          `  first result after ${Math.round(performance.now() - startedAt)} ms\n`,
        );
        assertEquals(await run("npx", args, { cwd: home, env }), "42\n");
      } finally {
        await stop(server);
      }
    });

    const app = await folder("app");
    await install(app, [archive]);
    const launcher = join(app, "node_modules/@paddock/paddock/bin/paddock.mjs");

    await t.step(
      "the launcher adds at most 0.3 s of CPU time, and passes on arguments, input and exit codes",
      async () => {
        const sources = join(home, ".cache/paddock/sources");
        const [{ name = "" } = {}] = await Array.fromAsync(Deno.readDir(sources));
        const deno = join(app, "node_modules/deno/deno");
        const direct = [deno, "run", "-A", "--quiet", join(sources, name, "src/cli/main.ts"), "--version"];
        const launched = [bin("node"), launcher, "--version"];
        const times: Record<string, number[]> = { direct: [], launched: [] };
        for (let round = 0; round < 9; round++) {
          for (const [kind, [program = "", ...args]] of Object.entries({ direct, launched })) {
            const before = await childrenCpuMs();
            await run(program, args, { env });
            times[kind]?.push(await childrenCpuMs() - before);
          }
        }
        const median = (values: number[] = []) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
        const added = median(times.launched) - median(times.direct);
        await writeText(Deno.stdout, `  the launcher adds ${added} ms of CPU time\n`);
        assertEquals(added > LAUNCHER_CPU_MS, false);
        const exiting = new Deno.Command(bin("node"), {
          args: [launcher, "exec", "-e", "import sys; sys.exit(7)"],
          env,
          cwd: home,
        });
        assertEquals((await exiting.output()).code, 7);
      },
    );

    await t.step("the types of the client compile", async () => {
      await Deno.writeTextFile(join(app, "types.ts"), TYPES);
      const options = [
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--skipLibCheck",
        "false",
      ];
      const lib = ["--lib", "es2022,dom,dom.iterable,esnext.disposable"];
      await run(bin("tsc"), [...options, ...lib, "types.ts"], { cwd: app });
    });

    const token = "0123456789abcdef0123456789abcdef";
    const server = new Deno.Command(bin("node"), {
      args: [launcher, "serve", "--port", "0"],
      cwd: home,
      env: { ...env, PADDOCK_TOKEN: token },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    try {
      const [url = ""] = await waitForLine(server.stderr, /http:\/\/127\.0\.0\.1:\d+/);
      for (const { install: name, command: [program = "", ...args] } of RUNTIMES) {
        await t.step(`the client runs in ${name}`, async () => {
          const project = await folder(name);
          await install(project, [name, archive]);
          await Deno.writeTextFile(join(project, "client.mjs"), CLIENT);
          const output = await run(join(project, program), [...args, "client.mjs", url, token], {
            cwd: project,
          });
          assertEquals(output, "b'\\x01\\x02\\x03'\n");
        });
      }
    } finally {
      await stop(server);
    }
  },
});
