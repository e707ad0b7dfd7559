import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { stripFactory } from "../../../src/sandbox/image/lean_factory.ts";

const FACTORY = `async function create(moduleArg={}){var Module=moduleArg;
function readFile(path){return decode(HEAP[path])}
function decode(bytes){return "decoded "+bytes+table["byName"]}
function byName(){}
function draw(){return canvas}draw.sig="v";
function open(path){return readFile(path)}open.sig="pp";
var canvas={size:1},HEAP=[],started=Module["start"]();
Module["readFile"]=readFile;Module["draw"]=draw;Module["start2"]=draw;
var _free,_malloc;function assignWasmExports(wasmExports){_free=Module["_free"]=wasmExports["free"];_malloc=Module["_malloc"]=wasmExports["malloc"];}
var table={};var wasmImports={draw,open};
function run(){assignWasmExports(wasmImports);_free(0)}run();return Module}
export default create;`;

const OPTIONS = { imports: new Set(["open"]), properties: ["readFile"], replaced: {} };

Deno.test("stripFactory() keeps what statements, imports and properties use, by any way of naming it", () => {
  const lines = stripFactory(FACTORY, OPTIONS).split("\n").map((line) => line.trim());
  assertEquals(lines, [
    "async function create(moduleArg={}){",
    "var Module=moduleArg;",
    "function readFile(path){return decode(HEAP[path])}",
    'function decode(bytes){return "decoded "+bytes+table["byName"]}',
    "function byName(){}",
    "function open(path){return readFile(path)}",
    'open.sig="pp";',
    "var HEAP=[];",
    'var started=Module["start"]();',
    'Module["readFile"]=readFile;',
    "var _free;",
    "var table={};",
    "var wasmImports={open};",
    "function run(){assignWasmExports(wasmImports);_free(0)}",
    "run();",
    "return Module",
    "function assignWasmExports(wasmExports){",
    '_free=Module["_free"]=wasmExports["free"];',
    "}",
    "}",
    "export default create;",
  ]);
});

Deno.test("stripFactory() replaces the values of variables, and drops what only those used", () => {
  const stripped = stripFactory(FACTORY, { ...OPTIONS, replaced: { table: "new WeakMap" } });
  assertStringIncludes(stripped, "var table=new WeakMap;");
  assertThrows(
    () => stripFactory(FACTORY, { ...OPTIONS, replaced: { missing: "0" } }),
    SyntaxError,
    "'missing'",
  );
});

Deno.test("stripFactory() refuses a file of another form", () => {
  const forms = [
    FACTORY.replace("export default create;", ""),
    `${FACTORY}\nexport const more = 1;`,
    FACTORY.replaceAll("assignWasmExports", "assignExports"),
    FACTORY.replace("export default create;", "globalThis.create = create;"),
  ];
  for (const form of forms) assertThrows(() => stripFactory(form, OPTIONS), SyntaxError, "one function");
});
