/** Writes the JSON Schema of `paddock.jsonc` from the options of the command line. */
import { paddockCommand } from "../src/cli/commands.ts";
import { configSchema } from "../src/cli/config/config_schema.ts";

const target = new URL("../docs/paddock.schema.json", import.meta.url);
await Deno.writeTextFile(target, `${JSON.stringify(configSchema(paddockCommand()), null, 2)}\n`);
