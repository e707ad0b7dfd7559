import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { TempFolder } from "../../temp_folder.ts";

const SRC = new URL("../../../src/", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, SRC));

/** The command line, whose modules load until Deno has taken SIGHUP, as on a busy machine. */
const SLOW_MAIN = `
const takesSigusr1 = () => {
  const [, caught = "0"] = /^SigCgt:\\s*(\\S+)$/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  return (BigInt("0x" + caught) & (1n << 9n)) !== 0n;
};
while (!takesSigusr1()) await new Promise((resolve) => setTimeout(resolve, 20));
export const { main } = await import("${new URL("cli/main.ts", SRC).href}");
`;

Deno.test({
  name: "paddock rollout continues under nohup on a machine where it starts slowly",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using clone = await TempFolder.of({
      "src/cli.ts": await read("cli.ts"),
      "src/cli/process/hangup.ts": await read("cli/process/hangup.ts"),
      "src/cli/process/parent_process.ts": await read("cli/process/parent_process.ts"),
      "src/cli/main.ts": SLOW_MAIN,
      "src/cli/commands.ts": "",
      "src/deno.json": "{}",
      "src/deno.lock": `{ "version": "5", "npm": {} }`,
      "tasks.jsonl": `{"query":"0 + 1?","answer":"1"}\n`,
    });
    const hungUp = Promise.withResolvers<void>();
    await using server = new FakeServer(async () => {
      await hungUp.promise;
      return completion({ content: "It is 1" });
    });
    const { path } = clone;
    const rollout = [
      "rollout",
      "--env",
      "chat",
      "--tasks",
      `${path}/tasks.jsonl`,
      "--out",
      `${path}/out.jsonl`,
    ];
    const config = fileURLToPath(new URL("../deno.json", SRC));
    const deno = ["run", "-A", "--quiet", "--no-check", "--config", config, `${path}/src/cli.ts`];
    const child = new Deno.Command("nohup", {
      args: [Deno.execPath(), ...deno, ...rollout, "--policy", `openai:${server.url}`, "--model", "m"],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const ended = child.output();
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGHUP");
    hungUp.resolve();
    const { code, stderr } = await ended;
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assertEquals((await Deno.readTextFile(`${path}/out.jsonl`)).split("\n").length, 2);
  },
});
