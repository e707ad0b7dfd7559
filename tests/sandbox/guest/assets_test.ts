import { assertEquals } from "@std/assert";
import { linkModules } from "../../../src/sandbox/guest/module_urls.ts";

Deno.test("linkModules() lets a module import those before it, at once or late", async () => {
  const urls = new Map<string, string>();
  const first = { name: "first.ts", source: 'export const one = 1; globalThis["log"]?.push("first");' };
  const late = { name: "late.ts", source: 'export const two = 2; globalThis["log"].push("late");' };
  const source = 'import { one } from "../guest/first.ts"; export { one };\n' +
    'export const load = async () => (await import("./late.ts")).two;\n';
  const log: string[] = [];
  Reflect.set(globalThis, "log", log);
  try {
    const { one, load } = await import(linkModules(urls, [first, late, { name: "last.ts", source }]));
    assertEquals([one, ...log], [1, "first"]);
    assertEquals([await load(), ...log], [2, "first", "late"]);
  } finally {
    Reflect.deleteProperty(globalThis, "log");
  }
});

Deno.test("linkModules() hides the URL of a late import, which Deno would load with the module", async () => {
  const late = { name: "late.ts", source: "export const two = 2;" };
  const source = 'export const load = () => import("./late.ts");\nimport "npm:other/file.ts";\n';
  const text = await (await fetch(linkModules(new Map(), [late, { name: "last.ts", source }]))).text();
  assertEquals(
    text.replace(/blob:[^"]*/, "URL"),
    'export const load = () => import(String("URL"));\nimport "npm:other/file.ts";\n',
  );
});
