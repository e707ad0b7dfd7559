import { assertEquals, assertThrows } from "@std/assert";
import { parseRequest, RequestError } from "../../src/cli/session_request.ts";

Deno.test("parseRequest() reads each kind of request", () => {
  assertEquals(parseRequest('{"id":1,"code":"x","timeoutMs":5,"stdin":"y"}'), {
    id: 1,
    code: "x",
    timeoutMs: 5,
    stdin: "y",
  });
  assertEquals(parseRequest('{"reset":"rewind","seed":7}'), { id: null, reset: "rewind", seed: 7 });
  assertEquals(parseRequest('{"id":"a","put":{"f":"aGk="}}'), {
    id: "a",
    put: new Map([["f", new Uint8Array([104, 105])]]),
  });
  assertEquals(parseRequest('{"id":null,"get":["f"]}'), { id: null, get: ["f"] });
});

Deno.test("parseRequest() says what is wrong with a line", () => {
  const cases: [string, string][] = [
    ["nope", "a line must be JSON"],
    ["[1]", "a request must be a JSON object"],
    ["null", "a request must be a JSON object"],
    ["{}", "a request must have one of code, shell, reset, put, get: there is none"],
    ['{"code":"1","get":[]}', "there are code, get"],
    ['{"code":1}', "code: "],
    ['{"code":"1","foo":1}', '"foo"'],
    ['{"code":"1","timeoutMs":"5"}', "timeoutMs: "],
    ['{"reset":"what"}', "reset: "],
    ['{"reset":"fresh","seed":1.5}', "seed: "],
    ['{"put":{"f":"***"}}', "put.f: must be base64"],
    ['{"put":{"f":1}}', "put.f: must be base64"],
    ['{"put":[]}', "put: must be an object"],
    ['{"get":"f"}', "get: "],
    ['{"id":{},"code":"1"}', "id: must be a string, a number or null"],
  ];
  for (const [line, message] of cases) assertThrows(() => parseRequest(line), RequestError, message);
});

Deno.test("parseRequest() keeps the id of a request that it refuses", () => {
  const ids = ['{"id":4}', '{"id":"a","code":1}', '{"id":[],"code":"1"}', "x"].map((line) =>
    assertThrows(() => parseRequest(line), RequestError).id
  );
  assertEquals(ids, [4, "a", null, null]);
});
