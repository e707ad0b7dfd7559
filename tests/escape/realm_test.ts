import { assert, assertEquals, assertMatch } from "@std/assert";
import { HostileRealm } from "./hostile_realm.ts";
import { Outside } from "./outside.ts";
import { type Payload, readPayloads } from "./payloads.ts";

async function playable(outside: Outside): Promise<Payload[]> {
  return (await readPayloads(outside.target)).filter(({ js }) => js !== undefined);
}

for (const profile of ["python", "workspace"]) {
  Deno.test(`a worker's realm of '${profile}' denies every attack by JavaScript`, async (t) => {
    await using outside = await Outside.create();
    const realm = await HostileRealm.create(profile);
    const payloads = (await playable(outside)).filter(({ hangs, last }) => !hangs && !last);
    const alone = payloads.filter(({ js }) => js?.includes("node:")); // loading these breaks the realm for the other payloads
    const together = await realm.run(payloads.filter((payload) => !alone.includes(payload)));
    const apart = await realm.runApart(alone);
    const reports: Record<string, string> = Object.assign({}, together, ...apart.reports);
    for (const { id, name } of payloads) {
      await t.step(`${id} ${name}`, () => assertMatch(reports[id] ?? "", /^(denied|nothing)/));
    }
    await outside.check([apart.stderr, JSON.stringify(reports)]);
  });
}

Deno.test("a worker that damages its own realm ends or responds, and harms no other session", async (t) => {
  const realm = await HostileRealm.create();
  await using outside = await Outside.create();
  const payloads = await playable(outside);
  const damaging = payloads.filter(({ hangs, last }) => last && !hangs);
  const { reports, stderr } = await realm.runApart(damaging);
  for (const [index, { id, name }] of damaging.entries()) {
    await t.step(`${id} ${name}`, () => assertEquals(Object.keys(reports[index] ?? {}).length, 1));
  }
  await outside.check([stderr, JSON.stringify(reports)]);
  for (const { id, name } of payloads.filter(({ hangs }) => hangs)) {
    await t.step(`${id} ${name}`, async () => {
      await using mine = await Outside.create();
      const payload = (await playable(mine)).find((other) => other.id === id);
      assert(payload);
      const end = await realm.runUntilKilled(payload, 300);
      await mine.check([end.stderr]);
    });
  }
});

/** Names of globals that belong to a runtime, not to JavaScript. */
const OF_A_RUNTIME =
  /^(op_|Deno|process|require|core|ops|bootstrap|internals)|readFile|connect|spawn|dlopen|fetchData/;

const REACHABLE = `
const seen = new Set();
const waiting = [[globalThis, "globalThis"]];
const found = [];
for (let at = waiting.pop(); at; at = waiting.pop()) {
  const [value, path] = at;
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
  seen.add(value);
  waiting.push([Reflect.getPrototypeOf(value), path + ".__proto__"]);
  for (const key of Reflect.ownKeys(value)) {
    const name = path + "." + String(key);
    if (${OF_A_RUNTIME}.test(String(key))) found.push(name);
    const { value: inner, get, set } = Reflect.getOwnPropertyDescriptor(value, key);
    waiting.push([inner, name], [get, name + ".get"], [set, name + ".set"]);
  }
}
return found.join() || undefined;`;

const GLOBALS = `
const language = new Set(("globalThis Infinity NaN undefined Object Function Array Number parseFloat parseInt Boolean String " +
  "Symbol Date Promise RegExp Math JSON Map Set WeakMap WeakSet WeakRef BigInt Error AggregateError EvalError RangeError " +
  "ReferenceError SyntaxError TypeError URIError ArrayBuffer SharedArrayBuffer DataView Atomics Proxy Reflect Iterator " +
  "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array " +
  "BigInt64Array BigUint64Array isNaN isFinite decodeURI decodeURIComponent encodeURI encodeURIComponent TextEncoder " +
  "TextDecoder WebAssembly").split(" "));
const stubs = [];
for (const key of Reflect.ownKeys(globalThis)) {
  if (language.has(key)) continue;
  const value = globalThis[key];
  if (typeof key === "symbol" || (typeof value === "function" && value !== Object && /native code/.test(value))) stubs.push(String(key));
}
return stubs.join() || undefined;`;

const MORE: Record<string, string> = {
  "nothing but the language is reachable": REACHABLE,
  "no global is the runtime's own": GLOBALS,
  "the async generator's constructor compiles nothing":
    `return (async function* () {}).constructor("yield 1");`,
  "a Proxy around Function compiles nothing": `return new Proxy(Function, {})("return 1");`,
  "Reflect.construct compiles nothing": `return Reflect.construct(Function, ["return 1"], Array);`,
  "a class that extends Function compiles nothing": `return new (class extends Function {})("return 1");`,
  "WebAssembly.compileStreaming reads nothing":
    `return await WebAssembly.compileStreaming({ url: "file:///etc/hostname", body: "" });`,
  "WebAssembly.instantiateStreaming reads nothing":
    `return await WebAssembly.instantiateStreaming(Promise.resolve("file:///x.wasm"));`,
  "Wasm gets no import that is more than the language": `
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
    return Reflect.ownKeys(new WebAssembly.Instance(new WebAssembly.Module(bytes), {}).exports).join() || undefined;`,
  "a new realm cannot be made": `return new ShadowRealm().evaluate("globalThis");`,
  "a blob of its own cannot be made":
    `return await import(URL.createObjectURL(new Blob(["export default 1"])));`,
  "a data: module has no more than its parent": `
    const { default: keys } = await import("data:text/javascript,export default Reflect.ownKeys(globalThis).filter((k) => /Deno|process|fetch|Worker|eval|require/.test(String(k)) && k !== 'fetch' && k !== 'WorkerGlobalScope').join()");
    return keys || undefined;`,
  "the stack names no file of the host":
    `const { stack } = new Error("x"); return /file:\\/\\/|\\/(root|home|usr|work|tmp)\\//.test(stack) ? stack : undefined;`,
  "captureStackTrace names no file of the host": `
    const holder = {};
    Error.stackTraceLimit = Infinity;
    Error.captureStackTrace(holder);
    return /file:\\/\\/\\/[a-z]/.test(holder.stack) ? holder.stack : undefined;`,
  "call sites hand out no function and no receiver": `
    Error.prepareStackTrace = (_, sites) => sites.map((site) => [site.getThis?.(), site.getFunction?.()]);
    const { stack } = new Error("x");
    delete Error.prepareStackTrace;
    return Array.isArray(stack) ? stack.flat().find((thing) => thing !== undefined && thing !== null) : undefined;`,
  "an error of the import machinery hands out no realm": `
    try { await import("file:///nope.js"); } catch (error) {
      const global = error.constructor.constructor === Function ? undefined : error.constructor;
      return global;
    }`,
  "a rejected import tells no path": `
    try { await import("./nope.js"); } catch (error) { return /\\/(root|home|usr|work|tmp)\\//.test(String(error.stack)) ? error.stack : undefined; }`,
  "the first message cannot be had twice":
    `return globalThis.onmessage ?? globalThis.dispatchEvent?.({ data: 1, type: "message" }) ?? undefined;`,
  "the thread's rings are no way to a neighbour": `
    const reached = Object.keys(start).filter((key) => start[key] instanceof MessagePort);
    return reached.join();`,
};

for (const profile of ["python", "workspace"]) {
  Deno.test(`a worker's realm of '${profile}' is empty`, async (t) => {
    const realm = await HostileRealm.create(profile);
    const payloads = Object.entries(MORE).map(([name, js]) => ({ id: name, family: 5, name, js }));
    const reports = await realm.run(payloads);
    for (const name of Object.keys(MORE)) {
      await t.step(name, () => assertMatch(reports[name] ?? "", /^(denied|nothing)/));
    }
  });
}
