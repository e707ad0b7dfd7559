import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { served } from "./served.ts";

Deno.test("/metrics shows the server's process and its cluster to the operator or the only user, not to one of several tokens", async () => {
  const tokens = ["first-token-of-16", "second-token-of-16"];
  const formatClusterMetrics = () => "paddock_cluster_nodes 3\n";
  await using alone = served({ formatClusterMetrics });
  const { body } = await alone.send("GET", "/metrics");
  for (const name of ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"]) {
    const value = Number(new RegExp(`^process_${name} (\\S+)$`, "m").exec(body)?.[1]);
    assert(value > 0, name);
    assertMatch(body, new RegExp(`^# TYPE process_${name} (counter|gauge)$`, "m"));
  }
  assertStringIncludes(body, "\npaddock_cluster_nodes 3\n");
  await using shared = served({ tokens, metricsToken: "operator-of-16-c", formatClusterMetrics });
  const metricsOf = async (token: string) =>
    (await shared.send("GET", "/metrics", undefined, { authorization: `Bearer ${token}` })).body;
  assertStringIncludes(await metricsOf("operator-of-16-c"), "\nprocess_cpu_seconds_total ");
  assertStringIncludes(await metricsOf("operator-of-16-c"), "\npaddock_cluster_nodes 3\n");
  assertEquals((await metricsOf("first-token-of-16")).includes("process_"), false);
  assertEquals((await metricsOf("first-token-of-16")).includes("cluster"), false);
});
