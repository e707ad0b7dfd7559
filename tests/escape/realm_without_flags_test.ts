import { assertEquals } from "@std/assert";
import { linkModules } from "../../src/sandbox/guest/module_urls.ts";
import { workerModules } from "../../src/sandbox/image/guest_sources.ts";

/** JavaScript that compiles code from text, or Wasm from bytes, in a process whose V8 flags allow both. */
const ATTEMPTS: Readonly<Record<string, string>> = {
  "eval": `return eval("7");`,
  "Function": `return Function("return 7")();`,
  "new Function": `return new Function("return 7")();`,
  "the constructor of a function": `return (() => {}).constructor("return 7")();`,
  "the constructor of an async function": `return await (async () => {}).constructor("return 7")();`,
  "the constructor of a generator": `return (function* () {}).constructor("yield 7")().next().value;`,
  "the constructor of an async generator":
    `return (await (async function* () {}).constructor("yield 7")().next()).value;`,
  "the constructor of what stands in for Function": `return Function.constructor("return 7")();`,
  "the prototypes of what stands in for Function": `
    for (let at = (async () => {}).constructor; at; at = Reflect.getPrototypeOf(at)) {
      for (const make of [at, at.constructor]) try { return make("return 7")(); } catch { /* the next */ }
    }`,
  "Reflect.construct": `return Reflect.construct(Function, ["return 7"], Array)();`,
  "a class that extends Function": `return new (class extends Function {})("return 7")();`,
  "a bound function, and a method": `
    for (const one of [(() => {}).bind(), { a() {} }.a, class { static a() {} }.a, Array.prototype.map, new Proxy(() => {}, {})]) {
      try { return one.constructor("return 7")(); } catch { /* the next */ }
    }`,
  "whatever of that kind can be reached": `
    const seen = new Set();
    const waiting = [globalThis, async () => {}, function* () {}, async function* () {}];
    for (let at; waiting.length > 0;) {
      at = waiting.pop();
      if ((typeof at !== "object" && typeof at !== "function") || at === null || seen.has(at)) continue;
      seen.add(at);
      if (typeof at === "function" && /Function|eval/.test(at.name)) {
        try { const made = at("return 7"); if (made === 7 || made() !== undefined) return at.name; } catch { /* refused */ }
      }
      waiting.push(Reflect.getPrototypeOf(at));
      for (const key of Reflect.ownKeys(at)) {
        const { value, get, set } = Reflect.getOwnPropertyDescriptor(at, key);
        waiting.push(value, get, set);
      }
    }`,
  "a realm of its own": `return new ShadowRealm().evaluate("7");`,
  "a module of Wasm": `
    removeWasmConstructors();
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    for (const make of ["Module", "Instance", "Memory"]) try { return new WebAssembly[make](bytes); } catch { /* the next */ }
    return await (WebAssembly.compile ?? WebAssembly.instantiate)?.(bytes);`,
};

Deno.test("an attempt in a worker's realm reports what it reached", async () => {
  assertEquals(await runInRealm("return 7;"), "GOT 7");
});

for (const [name, code] of Object.entries(ATTEMPTS)) {
  Deno.test(`a worker's realm makes no code by ${name}, whatever V8 would allow`, async () => {
    assertEquals(await runInRealm(code), "nothing");
  });
}

/** Runs JavaScript in an emptied realm, which can only report through shared memory. */
async function runInRealm(code: string): Promise<string> {
  const realm = workerModules().filter(({ name }) => name === "realm.ts");
  const source = `import { savedGlobals, removeWasmConstructors } from "./realm.ts";
const { words, bytes } = await savedGlobals.message;
let text = "nothing";
try {
  const got = await (async () => { ${code} })();
  if (got !== undefined) text = "GOT " + String(got);
} catch { /* refused */ }
bytes.set(new TextEncoder().encode(text).subarray(0, bytes.length));
Atomics.store(words, 0, text.length);
Atomics.notify(words, 0);`;
  const worker = new Worker(linkModules(new Map(), [...realm, { name: "attempt.ts", source }]), {
    type: "module",
  });
  const words = new Int32Array(new SharedArrayBuffer(4));
  const bytes = new Uint8Array(new SharedArrayBuffer(1000));
  worker.postMessage({ words, bytes });
  const wait = Atomics.waitAsync(words, 0, 0);
  if (wait.async) await wait.value;
  worker.terminate();
  return new TextDecoder().decode(bytes.slice(0, words[0]));
}
