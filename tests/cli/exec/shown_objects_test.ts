import { assertEquals, assertRejects } from "@std/assert";
import { formatShown, ShownFiles } from "../../../src/cli/exec/shown_objects.ts";
import { UnwrittenError } from "../../../src/cli/cli_errors.ts";
import type { MimeBundle } from "../../../src/sandbox/contract/exec.ts";
import { TempFolder } from "../../temp_folder.ts";

const PNG = "iVBORw0KGgo=";
const PLOT = { "image/png": PNG, "text/plain": "<Figure>" };

function format(bundle: MimeBundle, variables: Record<string, string> = {}, isTerminal = true): string {
  const stdout = { isTerminal: () => isTerminal, write: () => Promise.resolve(0), writeSync: () => 0 };
  return formatShown(bundle, { stdout, env: { get: (name) => variables[name] } });
}

Deno.test("formatShown() shows an image in a terminal that can, and text in others", () => {
  const kitty = `\x1b_Ga=T,f=100,m=0;${PNG}\x1b\\\n`;
  for (const variables of [{ TERM: "xterm-kitty" }, { KITTY_WINDOW_ID: "1" }, { TERM_PROGRAM: "ghostty" }]) {
    assertEquals(format(PLOT, variables), kitty);
  }
  for (const TERM_PROGRAM of ["iTerm.app", "WezTerm"]) {
    assertEquals(format(PLOT, { TERM_PROGRAM }), `\x1b]1337;File=inline=1:${PNG}\x07\n`);
  }
  for (const variables of [{}, { TERM: "xterm-256color" }, { TERM: "xterm-kitty", TMUX: "x" }]) {
    assertEquals(format(PLOT, variables), "<Figure>\n");
  }
  assertEquals(format(PLOT, { TERM: "xterm-kitty" }, false), "<Figure>\n");
  assertEquals(format({ "text/html": "<b>" }), "");
  assertEquals(format({ "text/plain": "a\x1b[1m" }).includes("\x1b"), false);
  const pieces = format({ "image/png": "A".repeat(9000) }, { TERM: "xterm-kitty" }).split("\x1b\\");
  assertEquals(pieces.map((piece) => piece.slice(0, 10)), [
    "\x1b_Ga=T,f=1",
    "\x1b_Gm=1;AAA",
    "\x1b_Gm=0;AAA",
    "\n",
  ]);
});

Deno.test("ShownFiles.save() writes each form to a file of its type", async () => {
  await using folder = await TempFolder.of({ file: "" });
  const directory = `${folder.path}/a/b`;
  const files = await ShownFiles.open(directory);
  const paths = await files.save([PLOT, {
    "application/json": { a: 1 },
    "text/../../x": "no",
    "audio/x": PNG,
  }]);
  assertEquals(paths, ["001.png", "002.json", "002.txt", "002.bin"].map((name) => `${directory}/${name}`));
  assertEquals(await Deno.readFile(`${directory}/001.png`), Uint8Array.fromBase64(PNG));
  assertEquals(JSON.parse(await Deno.readTextFile(`${directory}/002.json`)), { a: 1 });
  await assertRejects(() => ShownFiles.open(`${folder.path}/file`), UnwrittenError, "Cannot write to");
});
