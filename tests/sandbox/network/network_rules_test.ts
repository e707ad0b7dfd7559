import { assertEquals } from "@std/assert";
import {
  findNetworkRule,
  parseHostName,
  parseNetworkRule,
} from "../../../src/sandbox/guest/network_rules.ts";

Deno.test("parseNetworkRule() accepts names with ports, wildcards and other protocols", () => {
  assertEquals(parseNetworkRule("api.example.com:443"), {
    host: "api.example.com",
    port: 443,
    isWildcard: false,
    isRaw: false,
  });
  assertEquals(parseNetworkRule("*.example.org:8080")?.isWildcard, true);
  assertEquals(parseNetworkRule("tcp://db.example.com:5432")?.isRaw, true);
});

Deno.test("parseNetworkRule() refuses addresses, names of this machine, URLs and malformed rules", () => {
  const refused = [
    "api.example.com",
    "api.example.com:0",
    "api.example.com:65536",
    "api.example.com:080",
    "API.example.com:443",
    "api.example.com.:443",
    "api..example.com:443",
    "-api.example.com:443",
    "*:443",
    "*.com:443",
    "*.*.example.com:443",
    "a*.example.com:443",
    "127.0.0.1:80",
    "2130706433:80",
    "0x7f000001:80",
    "0x7f.1:80",
    "1.2.3.0x4:80",
    "[::1]:80",
    "::1:80",
    "localhost:80",
    "a.localhost:80",
    "https://api.example.com:443",
    "tcp://",
    "user@api.example.com:443",
    "api.example.com:443/path",
    "exämple.com:443",
    " api.example.com:443",
    `${"a".repeat(64)}.com:443`,
    `${"a.".repeat(126)}com:443`,
    "",
  ];
  assertEquals(refused.filter((text) => parseNetworkRule(text) !== undefined), []);
});

Deno.test("findNetworkRule() lists a host by name and port, and a wildcard only names below it", () => {
  const rules = ["api.example.com:443", "*.example.org:443"].flatMap((text) => parseNetworkRule(text) ?? []);
  const isListed = (host: string, port?: number) => findNetworkRule(rules, host, port) !== undefined;
  assertEquals(isListed("api.example.com", 443), true);
  assertEquals(isListed("api.example.com", 80), false);
  assertEquals(isListed("a.b.example.org"), true);
  const others = ["example.org", "badexample.org", "api.example.com.evil.org", "x.api.example.com"];
  assertEquals(others.filter((host) => isListed(host)), []);
  assertEquals(parseHostName("API.Example.com."), "api.example.com");
});
