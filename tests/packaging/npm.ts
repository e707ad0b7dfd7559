import { join } from "node:path";
import { run } from "../../packaging/sources.ts";

/** Installs packages of npm into a folder, which gets a `package.json`. */
export async function install(folder: string, packages: string[], overrides = {}): Promise<void> {
  const manifest = { private: true, type: "module", overrides };
  await Deno.writeTextFile(join(folder, "package.json"), JSON.stringify(manifest));
  await run("npm", ["install", "--no-audit", "--no-fund", "--foreground-scripts", ...packages], {
    cwd: folder,
  });
}

/** Returns a port of the loopback that is free now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
