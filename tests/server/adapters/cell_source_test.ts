import { assertEquals } from "@std/assert";
import { cellSource } from "../../../src/server/adapters/cell_source.ts";

Deno.test("cellSource() takes the first line's indentation off, as IPython does", () => {
  const cells = {
    "a\n  b": "a\n  b",
    "  a\n    b\n  c\n": "a\n  b\nc\n",
    "\n\t\n  if a:\r\n    b\n  \n": "\n\t\nif a:\r\n  b\n\n",
    "  a\nb": "a\nb",
    "": "",
    " \n\n": " \n\n",
  };
  for (const [cell, source] of Object.entries(cells)) assertEquals(cellSource(cell), source);
});
