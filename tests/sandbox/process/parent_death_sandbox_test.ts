import { assertEquals } from "@std/assert";
import { isAlive } from "../../../bench/processes.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import type { Layer } from "../../../src/sandbox/profile/schema.ts";

const working = new Set((await detectLayers()).filter(({ works }) => works).map(({ layer }) => layer));

/** Programs that can be between a host and its sandbox, and the layers that each needs and that it replaces. */
const WRAPPERS: Readonly<Record<string, { needs: readonly Layer[]; off: readonly Layer[] }>> = {
  unshare: { needs: ["parentDeath", "pidNamespace"], off: ["bubblewrap"] },
  setpriv: { needs: ["parentDeath"], off: ["userNamespace", "bubblewrap"] },
  bubblewrap: { needs: ["bubblewrap"], off: ["userNamespace", "mountNamespace"] },
};

/** Starts a sandbox that runs an endless program, and prints its process id. */
const HOST = `
const { loadProfile, Sandbox } = await import(Deno.args[0]);
const off = Object.fromEntries(JSON.parse(Deno.args[1]).map((layer) => [layer, "off"]));
const profile = await loadProfile("python");
const sandbox = await Sandbox.start({ profile: { ...profile, layers: { ...profile.layers, ...off } } });
const session = await sandbox.openSession();
const onOutput = () => console.log(sandbox.pid);
await session.exec("print(1, flush=True)\\nwhile True: pass", { timeoutMs: 3_600_000, onOutput });
`;

for (const [name, { needs, off }] of Object.entries(WRAPPERS)) {
  Deno.test({
    name: `a sandbox behind ${name} ends when its host is killed`,
    ignore: !needs.every((layer) => working.has(layer)),
    async fn() {
      const entry = new URL("../../../mod/sandbox.ts", import.meta.url).href;
      const host = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--quiet", "--ext=js", "-", entry, JSON.stringify(off)],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const writer = host.stdin.getWriter();
      await writer.write(new TextEncoder().encode(HOST));
      await writer.close();
      const reader = host.stdout.getReader();
      // the output may come in several pieces, each of which prints the same id
      const pid = Number.parseInt(new TextDecoder().decode((await reader.read()).value));
      assertEquals(await isAlive(pid), true);
      host.kill("SIGKILL");
      await host.status;
      await reader.cancel();
      while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 50));
    },
  });
}
