import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { respondAction, TauBenchDomain } from "../../../mod/tau_bench.ts";
import { SandboxError } from "../../../mod.ts";
import { LIBRARY_DESK, openEnv, openLibrary } from "./library_desk.ts";
import { makeOddCheckout } from "./faulty_domain.ts";

Deno.test("TauBenchDomain.open() names the missing file or domain", async () => {
  const open = (path: string, domain: string) => TauBenchDomain.open({ path, domain });
  const { NotFound } = Deno.errors;
  await assertRejects(
    () => open("/no/such", "retail"),
    NotFound,
    "Cannot open tau-bench at '/no/such' as it must be a checkout: there is no file 'tau_bench/envs/base.py'",
  );
  for (const domain of ["airport", "../library_desk", "", "a b"]) {
    await assertRejects(
      () => open(LIBRARY_DESK, domain),
      NotFound,
      `Cannot open domain '${domain}' of the tau-bench checkout at '${LIBRARY_DESK}' as it does not exist: ` +
        "found library_desk",
    );
  }
  await using domain = await openLibrary();
  assertEquals(domain.splits, ["test", "train"]);
  await assertRejects(
    () => openEnv(domain, { split: "dev" }),
    RangeError,
    "Cannot open split 'dev' of domain 'library_desk' as it must be one of test, train",
  );
  await assertRejects(() => openEnv(domain, { split: "__proto__" }), RangeError, "Cannot open split");
});

Deno.test("TauBenchDomain.open() reports why a domain's Python does not run", async () => {
  await using checkout = await makeOddCheckout();
  const open = (domain: string) => TauBenchDomain.open({ path: checkout.path, domain });
  await assertRejects(
    () => open("unmet"),
    SandboxError,
    "ModuleNotFoundError: No module named 'numpy_of_old'",
  );
  await assertRejects(
    () => open("empty"),
    SandboxError,
    "ImportError: tau_bench.envs.empty has no class of Env",
  );
});

Deno.test("TauBenchEnv survives tools that hang, exit or crash", async (t) => {
  await using checkout = await makeOddCheckout();
  await using domain = await TauBenchDomain.open({ path: checkout.path, domain: "odd" });
  assertEquals(domain.splits, ["test"]);
  await using env = await openEnv(domain, { toolTimeoutMs: 3_000 });
  const observe = async (name: string, kwargs = {}) => (await env.step({ name, kwargs })).observation;
  const says: Record<string, string> = {
    loud: "said",
    nothing: "Error: nothing must answer with text: it gave NoneType",
    forever: "Error: forever did not end: TimeoutError: the block ran longer than 3000 ms",
    leave: "Error: leave did not end: it exited with code 3",
    vanish: "Error: vanish did not end: InterpreterLost",
    hoard: "Error:",
  };
  for (const [name, expected] of Object.entries(says)) {
    await t.step(`${name}, and the episode goes on with its data`, async () => {
      await env.reset(0);
      assertEquals(await observe("add", { by: 1 }), "2");
      const observation = await observe(name);
      assert(observation.startsWith(expected), observation);
      assertEquals(await observe("add", { by: 1 }), "3");
      const { rewardParts } = await env.step(respondAction("Done"));
      assertEquals(rewardParts, { database: 1, outputs: null });
    });
  }
  await t.step("the interpreter is lost before the reward is computed", async () => {
    await env.reset(0);
    await observe("add", { by: 2 });
    await observe("vanish");
    assertEquals((await env.step(respondAction("Done"))).reward, 1);
  });
});

Deno.test("TauBenchEnv.dataHash() equals the hash of Python's text after any change of the tables", async () => {
  await using checkout = await makeOddCheckout();
  await using domain = await TauBenchDomain.open({ path: checkout.path, domain: "odd" });
  await using env = await openEnv(domain);
  const hashAfter = async (name?: string) => {
    await env.reset(0);
    if (name !== undefined) await env.step({ name, kwargs: {} });
    return await env.dataHash();
  };
  assertEquals(await hashAfter(), await sha256("(('shelf', (('one', (('count', 1),)),)),)"));
  assertEquals(await hashAfter("lists"), await sha256("(('more', 0.5), ('shelf', ('no', 'rows')))"));
  // U+FFFF, which Python shows as an escape, comes before what UTF-16 writes with surrogates
  assertEquals(await hashAfter("drop"), await sha256("(('shelf', (('\\uffff', None), ('😀', None))),)"));
});

Deno.test("TauBenchDomain.open() loads a domain again after a file of its checkout changed", async () => {
  await using checkout = await makeOddCheckout();
  const description = async () => {
    await using domain = await TauBenchDomain.open({ path: checkout.path, domain: "odd" });
    return domain.description;
  };
  const before = await description();
  const file = `${checkout.path}/tau_bench/envs/odd/env.py`;
  await Deno.writeTextFile(
    file,
    (await Deno.readTextFile(file)).replace('TASKS, "", []', 'TASKS, "New", []'),
  );
  assertEquals([before.wiki, (await description()).wiki], ["", "New"]);
  assertStringIncludes(JSON.stringify(before.tasks), '"kwargsText":"{\\"by\\": 2}"');
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

Deno.test("TauBenchEnv restores the data in a copy if the interpreter was lost just before its checkpoint", async () => {
  await using checkout = await makeOddCheckout();
  await using domain = await TauBenchDomain.open({ path: checkout.path, domain: "odd", sessions: 2 });
  await using env = await openEnv(domain);
  await env.reset(0);
  await env.step({ name: "add", kwargs: { by: 1 } });
  await env.step({ name: "vanish", kwargs: {} });
  const checkpoint = await env.checkpoint();
  await using copy = await checkpoint.copy();
  assertEquals((await copy.step({ name: "add", kwargs: { by: 1 } })).observation, "3");
  assertEquals((await env.step({ name: "add", kwargs: { by: 5 } })).observation, "7");
});
