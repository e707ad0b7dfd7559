import { fileURLToPath } from "node:url";
import ts from "typescript";

/**
 * Writes `src/client/paddock_client.d.ts`, the public types of the client, with the doc comments. `mod/client.ts` refers
 * to it, so that a program that uses the client is checked without the client's sources, whose schemas take seconds.
 */

const SOURCE = fileURLToPath(new URL("../src/client/paddock_client.ts", import.meta.url));
const NOTE = "// Written by `deno task client-types` from `paddock_client.ts`. Do not edit.\n" +
  "// deno-lint-ignore-file verbatim-module-syntax\n";
/** The compiler declares a method with a computed name a second time, as a property. */
const REPEATED = /^ *\[Symbol\.asyncDispose\]: \(\) => Promise<void>;\n/gm;

/** Returns the declarations of the client as it is now. */
export async function clientTypes(): Promise<string> {
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(await Deno.readTextFile(SOURCE), {
    fileName: SOURCE,
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ESNext, strict: true, isolatedDeclarations: true },
  });
  const [fault] = diagnostics;
  if (fault !== undefined) {
    const message = ts.flattenDiagnosticMessageText(fault.messageText, " ");
    throw new TypeError(
      `Cannot write the types of the client as each export must state its type: ${message}`,
    );
  }
  return await format(NOTE + outputText.replaceAll(REPEATED, ""));
}

async function format(text: string): Promise<string> {
  const config = fileURLToPath(new URL("../deno.json", import.meta.url));
  const command = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--config", config, "--ext", "ts", "-"],
    stdin: "piped",
    stdout: "piped",
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { code, stdout } = await child.output();
  if (code !== 0) throw new Error(`Cannot format the types of the client: deno fmt exited with ${code}`);
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  await Deno.writeTextFile(SOURCE.replace(/\.ts$/, ".d.ts"), await clientTypes());
}
