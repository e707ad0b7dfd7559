import { fileURLToPath } from "node:url";
import { assertEquals } from "@std/assert";
import { isAlive } from "../../bench/processes.ts";
import { detectLayers } from "../../src/sandbox/process/layers.ts";

const SERVING = new URL("../../bench/serving.ts", import.meta.url);
const reports = await detectLayers();

Deno.test({
  name: "a benchmark's server ends when the benchmark is killed",
  ignore: !reports.some(({ layer, works }) => layer === "parentDeath" && works),
  async fn() {
    const program = `
      const { Serving } = await import(${JSON.stringify(SERVING.href)});
      const { child } = await Serving.start("--max-sessions", "1");
      console.log(child.pid);
      setInterval(() => {}, 1000);`;
    const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
    await using parent = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--config", config, "-"],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    await new Response(program).body?.pipeTo(parent.stdin);
    const { value = "" } = await parent.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
    const pid = Number(value);
    assertEquals(await isAlive(pid), true);
    parent.kill("SIGKILL");
    await parent.status;
    while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  },
});
