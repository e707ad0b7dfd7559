import { assertEquals, assertThrows } from "@std/assert";
import { serverUrl } from "../../src/policy/server_url.ts";

Deno.test("serverUrl() takes a host, a root and the endpoint itself", () => {
  const urls = [
    "http://h:8000",
    "http://h:8000/",
    "http://h/v1",
    "http://h/api/v1/",
    "http://h/v1/chat/completions",
  ];
  assertEquals(urls.map((url) => serverUrl(url, "/chat/completions", { root: "/v1" }).href), [
    "http://h:8000/v1/chat/completions",
    "http://h:8000/v1/chat/completions",
    "http://h/v1/chat/completions",
    "http://h/api/v1/chat/completions",
    "http://h/v1/chat/completions",
  ]);
  assertEquals(serverUrl("http://h:30000", "/generate").href, "http://h:30000/generate");
});

Deno.test("serverUrl() refuses what is no address of http, and a password without showing it", () => {
  for (const url of ["", "localhost:8000", "ftp://h", "//h"]) {
    assertThrows(() => serverUrl(url, "/generate"), TypeError, "must be an address of http or https");
  }
  const error = assertThrows(() => serverUrl("http://me:secret@h", "/generate"), TypeError, "no password");
  assertEquals(`${error}`.includes("secret"), false);
});
