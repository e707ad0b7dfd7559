import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildWebModule } from "../../packaging/web_module.ts";
import { TempFolder } from "../temp_folder.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const PROGRAM = `
const client = await import("./client.js");
const errors = Object.keys(client).filter((name) => name.endsWith("Error")).sort();
const { PaddockClient, RequestError, SandboxError } = client;
const server = Deno.serve({ port: 0, onListen() {} }, () =>
  Response.json({ error: { type: "unauthorized", message: "no" } }, { status: 401 }));
const outcome = async (url) => {
  await using paddock = new PaddockClient({ url, retries: 0 });
  const error = await paddock.exec("1").catch((error) => error);
  return [error.name, error.constructor.name, error.code, error.status,
    error instanceof RequestError && error instanceof SandboxError];
};
const refused = await outcome("http://127.0.0.1:" + server.addr.port);
await server.shutdown();
const away = await outcome("http://127.0.0.1:1");
console.log(JSON.stringify({ errors, refused, away, closed: new client.SandboxError("x").name }));
`;

const IN_NODE_20 = `
delete Promise.withResolvers;
const error = await import("./client.js").catch((error) => error);
console.log(error.message.split("\\n").length, error.message);
`;

Deno.test("the client's module has readable code, error classes with names and codes, and refuses Node 20", async () => {
  await using folder = await TempFolder.of({ "program.js": PROGRAM, "node_20.js": IN_NODE_20 });
  await buildWebModule({ entry: "mod/client.ts", folder: folder.path, name: "client" });
  const run = async (name: string) => {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", join(folder.path, name)],
      cwd: folder.path,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder();
    return text.decode(stdout) + text.decode(stderr);
  };
  assertEquals(JSON.parse(await run("program.js")), {
    errors: [
      "ArgumentRangeError",
      "ArgumentTypeError",
      "CheckpointError",
      "GuestFileError",
      "ProgramError",
      "RequestError",
      "SandboxError",
      "SessionClosedError",
      "WaitingExecError",
    ],
    refused: ["RequestError", "RequestError", "unauthorized", 401, true],
    away: ["RequestError", "RequestError", "unreachable", null, true],
    closed: "SandboxError",
  });
  assertStringIncludes(await run("node_20.js"), "1 Cannot run Paddock as it needs Node 22 or later");
  const lines = (await Deno.readTextFile(join(folder.path, "client.js"))).split("\n");
  assertEquals(lines.filter((line) => line.length > 2_000), []);
});

const major = await new Deno.Command("node", { args: ["-p", "process.versions.node"], stderr: "null" })
  .output()
  .then(({ stdout }) => Number.parseInt(new TextDecoder().decode(stdout), 10), () => NaN);

Deno.test({
  name: "the command of the npm package refuses Node 20 in one line",
  ignore: !(major < 22),
  async fn() {
    const { code, stderr } = await new Deno.Command("node", {
      args: [join(ROOT, "packaging/npm/paddock.mjs"), "exec", "-e", "1"],
    }).output();
    const text = new TextDecoder().decode(stderr);
    assertEquals([
      code,
      text.split("\n").length,
      text.startsWith("error: Cannot run Paddock as it needs Node 22"),
    ], [
      1,
      2,
      true,
    ]);
  },
});
