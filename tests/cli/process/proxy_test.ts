import { assertEquals } from "@std/assert";
import { describeProxy, excludeLoopback } from "../../../src/cli/process/proxy.ts";

function environment(variables: Record<string, string>) {
  return {
    get: (name: string) => variables[name],
    set: (name: string, value: string) => void (variables[name] = value),
  };
}

Deno.test("excludeLoopback() adds this machine to NO_PROXY where there is a proxy", () => {
  const cases: [Record<string, string>, string | undefined][] = [
    [{}, undefined],
    [{ NO_PROXY: "a" }, "a"],
    [{ HTTP_PROXY: "http://p" }, "localhost,127.0.0.1,::1"],
    [{ https_proxy: "http://p", no_proxy: "a, b" }, "a,b,localhost,127.0.0.1,::1"],
    [{ ALL_PROXY: "http://p", NO_PROXY: "localhost" }, "localhost,127.0.0.1,::1"],
  ];
  for (const [variables, expected] of cases) {
    excludeLoopback(environment(variables));
    assertEquals(variables.NO_PROXY, expected);
  }
});

Deno.test("describeProxy() names the variable and the proxy without its password, and none for excluded hosts", () => {
  const env = environment({ HTTP_PROXY: "http://user:secret@proxy:3128", NO_PROXY: ".intern,exact" });
  const route = "through the proxy of HTTP_PROXY, http://proxy:3128";
  const of = (url: string) => describeProxy(new URL(url), env);
  assertEquals([of("http://model:8000"), of("http://notexact")], [route, route]);
  for (
    const url of [
      "https://model",
      "http://a.intern",
      "http://exact",
      "http://127.0.0.1:8000",
      "http://[::1]:1",
    ]
  ) {
    assertEquals(of(url), undefined, url);
  }
});
