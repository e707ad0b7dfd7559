/** Creates the environment of the peers, from the versions and hashes of `requirements.txt`.. */
import { parseArgs } from "node:util";
import { PEER_VENV } from "../peer_rows.ts";

const { values } = parseArgs({ options: { python: { type: "string", default: "python3" } } });
const requirements = decodeURIComponent(new URL("requirements.txt", import.meta.url).pathname);

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, code } = await new Deno.Command(program, { args }).spawn().status;
  if (!success) Deno.exit(code);
}

await run(values.python, "-m", "venv", "--clear", PEER_VENV);
await run(
  `${PEER_VENV}/bin/python`,
  "-m",
  "pip",
  "install",
  "--quiet",
  "--require-hashes",
  "-r",
  requirements,
);
