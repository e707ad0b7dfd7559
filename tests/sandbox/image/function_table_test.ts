import { assertEquals, assertThrows } from "@std/assert";
import wabt from "wabt";
import { FUNCTION_SLOTS } from "../../../src/sandbox/guest/python/main_functions.ts";
import { addToTable } from "../../../src/sandbox/image/wasm/function_table.ts";

const OPTIONS = { names: new Set(["one", "two", "three", "missing"]), withheld: ["four"], isRestored: true };

/** A module with four functions that return their number, of which the second is in the table. */
function moduleText(table: string, segment = "(elem (i32.const 1) $two $two)"): string {
  return `(module
    ${table}
    (table (export "externals") 0 externref)
    (func $one (export "one") (result i32) (i32.const 1))
    (func $two (export "two") (export "alias") (result i32) (i32.const 2))
    (func $three (export "three") (result i32) (i32.const 3))
    (func $four (export "four") (result i32) (i32.const 4))
    ${segment})`;
}

async function toWasm(text: string): Promise<Uint8Array> {
  const module = (await wabt()).parseWat("table.wat", text, { reference_types: true });
  return module.toBinary({}).buffer;
}

Deno.test("addToTable() gives each named function one slot, and a section with the slots", async () => {
  for (
    const [table, isRestored] of [
      ['(table (export "t") 3 funcref)', true],
      ['(table (export "t") 3 130 funcref)', false],
    ] as const
  ) {
    const wasm = addToTable(await toWasm(moduleText(table)), { ...OPTIONS, isRestored });
    const module = new WebAssembly.Module(wasm);
    const { exports } = new WebAssembly.Instance(module, {});
    const [section = new ArrayBuffer()] = WebAssembly.Module.customSections(module, FUNCTION_SLOTS);
    const slots: Record<string, number> = JSON.parse(new TextDecoder().decode(section));
    assertEquals(slots, { one: 3, two: 1, three: 4 });
    const functions = exports.t as WebAssembly.Table;
    assertEquals(functions.length, 6);
    assertEquals(functions.get(5), isRestored ? null : exports.four);
    for (const [name, slot] of Object.entries(slots)) assertEquals(functions.get(slot), exports[name]);
  }
});

Deno.test("addToTable() refuses a table whose segments it cannot read", async () => {
  const table = '(table (export "t") 3 funcref)';
  const globals = '(global $at (import "env" "at") i32)';
  const placed = await toWasm(moduleText(`${globals} ${table}`, "(elem (global.get $at) $two)"));
  assertThrows(() => addToTable(placed, OPTIONS), SyntaxError, "fixed slot");
  const declared = await toWasm(moduleText(table, "(elem declare func $two)"));
  assertThrows(() => addToTable(declared, OPTIONS), SyntaxError, "fixed slot");
  const external = await toWasm(moduleText("", ""));
  assertThrows(() => addToTable(external, OPTIONS), SyntaxError, "has no functions");
});
