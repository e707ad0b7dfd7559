import { assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { PolicyVersion } from "../../src/transforms/policy_version.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

Deno.test("PolicyVersion adds integer versions at reset and step, from 0", async () => {
  const version = new PolicyVersion();
  await using env = new TransformedEnv(new ChatEnv(), [version]);
  assertEquals((await env.reset({ id: "t", query: "q" })).policyVersion, 0);
  assertEquals((await env.step(replyAction("a"))).policyVersion, 0);
  assertEquals(version.incrementVersion(), 1);
  assertEquals((await env.step(replyAction("b"))).policyVersion, 1);
  version.incrementVersion();
  assertEquals((await env.reset({ id: "t", query: "q" })).policyVersion, 2);
  assertEquals(version.versionHistory, [0, 1, 2]);
});

Deno.test("PolicyVersion adds a new UUID for each version", async () => {
  const version = new PolicyVersion({ versionType: "uuid" });
  await using env = new TransformedEnv(new ChatEnv(), [version]);
  const { policyVersion } = await env.reset({ id: "t", query: "q" });
  assertMatch(`${policyVersion}`, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assertEquals((await env.step(replyAction("a"))).policyVersion, policyVersion);
  assertNotEquals(version.incrementVersion(), policyVersion);
  assertEquals<unknown>(version.versionHistory, [policyVersion, version.version]);
});

Deno.test("PolicyVersion is shared by all envs that use the instance", async () => {
  const version = new PolicyVersion();
  await using one = new TransformedEnv(new ChatEnv(), [version]);
  await using other = new TransformedEnv(new ChatEnv(), [version]);
  version.incrementVersion();
  for (const env of [one, other]) assertEquals((await env.reset({ id: "t", query: "q" })).policyVersion, 1);
});

Deno.test("PolicyVersion refuses an unknown type of version", () => {
  // deno-lint-ignore no-explicit-any -- what a caller without types may do
  assertThrows(() => new PolicyVersion({ versionType: "float" as any }), TypeError, "'versionType'");
});
