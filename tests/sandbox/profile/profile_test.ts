import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  loadProfile,
  parseProfile,
  type Profile,
  shippedProfiles,
} from "../../../src/sandbox/profile/profile.ts";
import { LAYERS } from "../../../src/sandbox/profile/schema.ts";
import { TempFolder } from "../../temp_folder.ts";

const DIGEST = "0123456789abcdef".repeat(4);

function parse(value: unknown, directory: string | undefined = "/profiles") {
  return parseProfile(JSON.stringify(value), { source: "mine.jsonc", directory });
}

function refusal(value: unknown): string {
  return assertThrows(() => parse(value), SyntaxError).message;
}

Deno.test("parseProfile() fills in the defaults of an empty profile", () => {
  const profile = parse({});
  assertEquals(profile, {
    name: "mine.jsonc",
    description: "",
    permissions: {
      read: false,
      write: false,
      net: false,
      env: false,
      run: false,
      sys: false,
      ffi: false,
      import: false,
    },
    limits: {
      timeoutMs: 10_000,
      graceMs: 1_000,
      memoryBytes: 268_435_456,
      outputBytes: 1_048_576,
      fileBytes: 67_108_864,
      cpuSeconds: 30,
      hostToolCalls: 1_000,
    },
    preimports: [],
    packages: [],
    mounts: [],
    sessionsPerProcess: 1,
    layers: {
      ...Object.fromEntries(LAYERS.map((layer) => [layer, "optional"])) as Profile["layers"],
      speculation: "off",
    },
    hostTools: false,
    shell: false,
  });
  assertEquals(JSON.parse(JSON.stringify(profile)), profile);
});

Deno.test("parseProfile() reads comments and trailing commas", () => {
  const profile = parseProfile('{ // a comment\n "sessionsPerProcess": 4, /* and */ }', { source: "mine" });
  assertEquals(profile.sessionsPerProcess, 4);
});

Deno.test("parseProfile() resolves paths relative to the profile's folder", () => {
  const { mounts, packages } = parse({
    mounts: { "/data//sub/./": "../shared", "/home/pyodide/in": "/etc/hosts" },
    packages: {
      "Typing_Extensions": { wheel: "w/typing.whl", sha256: DIGEST.toUpperCase() },
      "all": { lock: "pyodide-lock.json", sha256: DIGEST },
    },
  });
  assertEquals(mounts, [
    { guestPath: "/data/sub", hostPath: "/shared" },
    { guestPath: "/home/pyodide/in", hostPath: "/etc/hosts" },
  ]);
  assertEquals(packages, [
    { name: "typing-extensions", kind: "wheel", path: "/profiles/w/typing.whl", sha256: DIGEST },
    { name: "all", kind: "lock", path: "/profiles/pyodide-lock.json", sha256: DIGEST },
  ]);
});

Deno.test("parseProfile() refuses a relative path without a folder", () => {
  const text = '{ "mounts": { "/data": "data" } }';
  const error = assertThrows(() => parseProfile(text, { source: "python" }), SyntaxError);
  assertEquals(
    error.message,
    "Cannot read profile 'python' as its paths must be absolute if it is not a file: current value is 'data'",
  );
});

Deno.test("parseProfile() lists every issue with its path", () => {
  const message = refusal({
    limits: { timeoutMs: 0, colour: "red" },
    preimports: ["math", "os; import evil"],
    hostTools: "yes",
    color: 1,
  });
  assertEquals(
    message,
    `Cannot read profile 'mine.jsonc':
  limits.timeoutMs must be an integer from 1 to 86400000: current value is 0
  limits.colour is an unknown key: known keys are timeoutMs, graceMs, memoryBytes, outputBytes, fileBytes, cpuSeconds, hostToolCalls
  preimports[1] must be the dotted name of a Python module: current value is "os; import evil"
  hostTools must be true or false: current value is "yes"
  color is an unknown key: known keys are format, description, permissions, limits, preimports, packages, mounts, sessionsPerProcess, layers, hostTools, shell, network`,
  );
});

for (
  const [value, fault] of [
    [[], "the profile must be an object: current value is []"],
    [null, "the profile must be an object: current value is null"],
    ["python", 'the profile must be an object: current value is "python"'],
    [{ description: 3 }, "description must be a string: current value is 3"],
    [{ limits: [] }, "limits must be an object: current value is []"],
    [{ limits: { graceMs: -1 } }, "limits.graceMs must be an integer from 1 to 60000: current value is -1"],
    [
      { limits: { cpuSeconds: 1.5 } },
      "limits.cpuSeconds must be an integer from 1 to 86400: current value is 1.5",
    ],
    [
      { limits: { outputBytes: "1" } },
      'limits.outputBytes must be an integer from 1 to 1073741824: current value is "1"',
    ],
    [
      { limits: { fileBytes: null } },
      "limits.fileBytes must be an integer from 1 to 1073741824: current value is null",
    ],
    [
      { limits: { hostToolCalls: 0 } },
      "limits.hostToolCalls must be an integer from 1 to 1000000: current value is 0",
    ],
    [
      { limits: { memoryBytes: 268_435_457 } },
      "limits.memoryBytes must be a multiple of 65536 from 67108864 to 2147483648: current value is 268435457",
    ],
    [{ limits: { memoryBytes: 65_536 } }, "limits.memoryBytes must be a multiple of 65536 from 67108864"],
    [
      { limits: { memoryBytes: 4_294_967_296 } },
      "limits.memoryBytes must be a multiple of 65536 from 67108864",
    ],
    [{ preimports: "math" }, 'preimports must be a list of Python modules: current value is "math"'],
    [
      { preimports: ["a..b"] },
      'preimports[0] must be the dotted name of a Python module: current value is "a..b"',
    ],
    [{ sessionsPerProcess: 65 }, "sessionsPerProcess must be an integer from 1 to 64: current value is 65"],
    [
      { layers: { rlimits: true } },
      "layers.rlimits must be one of required, installed, optional, off: current value is true",
    ],
    [
      { layers: { apparmor: "off" } },
      "layers.apparmor is an unknown key: known keys are rlimits, noNewPrivs",
    ],
  ] as const
) {
  Deno.test(`parseProfile() refuses ${JSON.stringify(value)}`, () => {
    assertStringIncludes(refusal(value), fault);
  });
}

Deno.test("parseProfile() refuses numbers that JavaScript cannot represent", () => {
  const text = '{ "limits": { "timeoutMs": 1e999 } }';
  const error = assertThrows(() => parseProfile(text, { source: "big" }), SyntaxError);
  assertStringIncludes(
    error.message,
    "limits.timeoutMs must be an integer from 1 to 86400000: current value is Infinity",
  );
});

const AMBIGUOUS: readonly (readonly [string, string])[] = [
  ['{ "__proto__": {} }', "at line 1, column 3 as '__proto__' is an unknown key"],
  ['{ "mounts": { "__proto__": "x" } }', "at line 1, column 15 as '__proto__' is an unknown key"],
  ['{ "preimports": [\n{ "__proto__": 1 }] }', "at line 2, column 3 as '__proto__' is an unknown key"],
  ['{ "\\u005f_proto__": 1 }', "at line 1, column 3 as '__proto__' is an unknown key"],
  [
    '{ "limits": { "timeoutMs": 100,\n  "timeoutMs": 5000 } }',
    "at line 2, column 3 as 'timeoutMs' is there twice: remove one of them",
  ],
  [
    '{ "sessionsPerProcess": 1, "sessionsPerProcess": 8 }',
    "at line 1, column 28 as 'sessionsPerProcess' is there twice: remove one of them",
  ],
  [
    '{ "limits": {}, /* a */ "limits": { "timeoutMs": 1 } }',
    "at line 1, column 25 as 'limits' is there twice: remove one of them",
  ],
  [
    '{ "hostTools": false, "host\\u0054ools": true }',
    "at line 1, column 23 as 'hostTools' is there twice: remove one of them",
  ],
];

for (const [text, fault] of AMBIGUOUS) {
  Deno.test(`parseProfile() refuses ${JSON.stringify(text)} with its place`, () => {
    const error = assertThrows(() => parseProfile(text, { source: "mine" }), SyntaxError);
    assertEquals(error.message, `Cannot read profile 'mine' ${fault}`);
  });
}

Deno.test("parseProfile() treats constructor and prototype as unknown keys", () => {
  for (const key of ["constructor", "prototype", "toString"]) {
    for (const text of [`{ "${key}": {} }`, `{ "limits": { "${key}": 1 } }`]) {
      const error = assertThrows(() => parseProfile(text, { source: "mine" }), SyntaxError);
      assertStringIncludes(error.message, `${key} is an unknown key`);
    }
  }
});

Deno.test("loadProfile() reads at most 1 MiB of a file", async () => {
  const path = await Deno.makeTempFile({ suffix: ".jsonc" });
  try {
    await Deno.writeTextFile(path, `{ "format": 1 }${" ".repeat(2 ** 20)}`);
    await assertRejects(() => loadProfile(path), Error, "must have at most 1048576 bytes");
    await Deno.writeTextFile(path, `{ "format": 1 }${" ".repeat(2 ** 20 - 15)}`);
    assertEquals((await loadProfile(path)).name, path);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("parseProfile() accepts denied permissions in every form that Deno has", () => {
  const permissions = {
    read: false,
    write: [],
    net: { deny: true },
    env: { allow: [], deny: ["HOME"] },
    run: { allow: false },
  };
  assertEquals(parse({ permissions }).permissions, parse({}).permissions);
});

for (
  const [permissions, fault] of [
    [
      { read: true },
      "permissions.read cannot be granted, as the sandbox drops this permission before the first exec; name",
    ],
    [{ read: ["./data"] }, "permissions.read cannot be granted"],
    [{ write: true }, "permissions.write cannot be granted"],
    [
      { net: ["example.com"] },
      "permissions.net cannot be granted, as the sandbox makes no connection itself; list hosts in 'network'",
    ],
    [{ env: { allow: ["HOME"] } }, "permissions.env cannot be granted"],
    [{ run: { allow: true, deny: ["rm"] } }, "permissions.run cannot be granted"],
    [{ sys: true }, "permissions.sys cannot be granted"],
    [{ ffi: true }, "permissions.ffi cannot be granted"],
    [{ import: ["jsr.io"] }, "permissions.import cannot be granted"],
    [
      { read: "all" },
      'permissions.read must be a permission as in Deno: true, false, a list of strings, or { allow, deny } of these: current value is "all"',
    ],
    [{ net: { permit: true } }, "permissions.net must be a permission as in Deno"],
    [{ net: [80] }, "permissions.net must be a permission as in Deno"],
    [
      { all: true },
      "permissions.all is an unknown key: known keys are read, write, net, env, run, sys, ffi, import",
    ],
  ] as const
) {
  Deno.test(`parseProfile() refuses the permissions ${JSON.stringify(permissions)}`, () => {
    assertStringIncludes(refusal({ permissions }), fault);
  });
}

for (
  const [mounts, fault] of [
    [{ "data": "x" }, 'mounts.data must have an absolute guest path: current value is "x"'],
    [{ "/a/../b": "x" }, `mounts["/a/../b"] must have a guest path without '..': current value is "x"`],
    [
      { "/": "x" },
      'mounts["/"] must have a guest path that does not cover the interpreter\'s /: current',
    ],
    [{ "//": "x" }, 'mounts["//"] must have a guest path that does not cover the interpreter\'s /'],
    [
      { "/home": "x" },
      'mounts["/home"] must have a guest path that does not cover the interpreter\'s /home',
    ],
    [{ "/home/pyodide/": "x" }, "that does not cover the interpreter's /home/pyodide:"],
    [{ "/lib/python3.14": "x" }, "must have a guest path outside the interpreter's /lib:"],
    [{ "/LIB/x": "x" }, "must have a guest path outside the interpreter's /lib:"],
    [{ "/dev": "x" }, "must have a guest path outside the interpreter's /dev:"],
    [{ "/./proc/self": "x" }, "must have a guest path outside the interpreter's /proc:"],
    [{ "/tmp/x": "x" }, "must have a guest path outside the interpreter's /tmp:"],
    [
      { "/a\0b": "x" },
      "must have a guest path of well-formed text without control characters and backslashes",
    ],
    [{ "/a\\b": "x" }, "must have a guest path of well-formed text"],
    [
      { "/a": "x", "/a/": "y" },
      "mounts[\"/a/\"] must have a unique guest path: '/a' is the same: current",
    ],
    [
      { "/Data": "x", "/data": "y" },
      "mounts[\"/data\"] must have a unique guest path: '/Data' is the same",
    ],
    [
      { "/caf\u00e9": "x", "/cafe\u0301": "y" },
      "must have a unique guest path: '/caf\u00e9' is the same",
    ],
    [
      { "/stra\u00dfe": "x", "/STRASSE": "y" },
      "must have a unique guest path: '/stra\u00dfe' is the same",
    ],
    [
      { "/a": "x", "/a/b": "y" },
      "mounts[\"/a/b\"] must have a guest path that neither lies in another one nor contains it: current value clashes with '/a'",
    ],
    [
      { "/a/b": "x", "/a": "y" },
      "mounts[\"/a\"] must have a guest path that neither lies in another one nor contains it: current value clashes with '/a/b'",
    ],
    [{ "/a": "" }, 'mounts["/a"] must be the path of a file or folder, without a comma: current value is ""'],
    [
      { "/a": "x,y" },
      'mounts["/a"] must be the path of a file or folder, without a comma: current value is "x,y"',
    ],
    [
      { "/a": true },
      'mounts["/a"] must be the path of a file or folder, without a comma: current value is true',
    ],
    [["/a"], 'mounts must be an object of guest paths and host paths: current value is ["/a"]'],
  ] as const
) {
  Deno.test(`parseProfile() refuses the mounts ${JSON.stringify(mounts)}`, () => {
    assertStringIncludes(refusal({ mounts }), fault);
  });
}

Deno.test("parseProfile() accepts mounts with equal basenames or a common prefix", () => {
  const { mounts } = parse({ mounts: { "/a/data": "x", "/b/data": "y", "/a/data2": "z", "/library": "w" } });
  assertEquals(mounts.map((mount) => mount.guestPath), ["/a/data", "/b/data", "/a/data2", "/library"]);
});

for (
  const [packages, fault] of [
    [
      { demo: { wheel: "a.whl" } },
      "packages.demo.sha256 must be 64 hexadecimal digits: current value is undefined",
    ],
    [
      { demo: { wheel: "a.whl", sha256: "abc" } },
      'packages.demo.sha256 must be 64 hexadecimal digits: current value is "abc"',
    ],
    [
      { demo: { wheel: "a.zip", sha256: DIGEST } },
      'packages.demo.wheel must be the path of a .whl file: current value is "a.zip"',
    ],
    [{ demo: { sha256: DIGEST } }, "packages.demo must have one of 'wheel', 'lock' and 'file'"],
    [
      { demo: { wheel: "a.whl", lock: "b.json", sha256: DIGEST } },
      "packages.demo must have one of 'wheel', 'lock' and 'file'",
    ],
    [
      { demo: { url: "https://x" } },
      "packages.demo.url is an unknown key: known keys are wheel, lock, file, version, sha256, source, requirement, neededBy",
    ],
    [
      { "../x": { wheel: "a.whl", sha256: DIGEST } },
      'packages["../x"] must have the name of a package: current value is "../x"',
    ],
    [
      { "a-b": { wheel: "a.whl", sha256: DIGEST }, "A_b": { wheel: "b.whl", sha256: DIGEST } },
      "packages.A_b must have a unique name: 'a-b' is the same",
    ],
  ] as const
) {
  Deno.test(`parseProfile() refuses the packages ${JSON.stringify(packages).slice(0, 60)}`, () => {
    assertStringIncludes(refusal({ packages }), fault);
  });
}

for (
  const [text, complaint] of [
    ["", "at line 1, column 1 as it must be JSON with comments: found no value"],
    [
      '{\n  "limits": {\n    "timeoutMs" 5\n',
      "at line 3, column 17 as it must be JSON with comments: found no colon",
    ],
    ["{} {}", "at line 1, column 4 as it must be JSON with comments: found text after the end"],
    ["[".repeat(100_000), "at line 1, column 65 as it is nested too deeply: at most 64 levels"],
  ] as const
) {
  Deno.test(`parseProfile() says where ${JSON.stringify(text.slice(0, 30))} is broken`, () => {
    const error = assertThrows(() => parseProfile(text, { source: "broken.jsonc" }), SyntaxError);
    assertEquals(error.message, `Cannot read profile 'broken.jsonc' ${complaint}`);
  });
}

for (const name of shippedProfiles) {
  Deno.test(`loadProfile() finds '${name}'`, async () => {
    const profile = await loadProfile(name);
    assertEquals(profile.name, name);
    assert(profile.description !== "");
  });
}

Deno.test("parseProfile() accepts format 1, which is the default, and refuses a newer one", () => {
  assertEquals(parse({ format: 1 }), parse({}));
  const error = assertThrows(() => parse({ format: 2 }), SyntaxError);
  assertStringIncludes(
    error.message,
    "format must be 1 or lower for this version of Paddock: a newer one wrote format 2",
  );
});

Deno.test("loadProfile() returns all defaults for 'python'", async () => {
  const { description: _, name: __, preimports: ___, ...python } = await loadProfile("python");
  const { description: _1, name: _2, preimports: _3, ...defaults } = parse({});
  assertEquals(python, defaults);
});

Deno.test("loadProfile() loads a file and resolves paths relative to its folder", async () => {
  await using dir = await TempFolder.of({
    "mine.jsonc": '\ufeff{ "mounts": { "/data": "a.txt" } }',
    "a.txt": "a",
  });
  const profile = await loadProfile(`${dir.path}/mine.jsonc`);
  assertEquals(profile.mounts, [{ guestPath: "/data", hostPath: `${dir.path}/a.txt` }]);
});

Deno.test("loadProfile() lists the known profiles if the name is unknown", async () => {
  for (const name of ["pyhton", "", "toString", "__proto__"]) {
    const error = await assertRejects(() => loadProfile(name), Deno.errors.NotFound);
    assertEquals(
      error.message,
      `Cannot find profile '${name}': it must be one of evaluation, python, reason, science, serve, strict, tools, workspace, or a path to a .jsonc file`,
    );
  }
});

Deno.test("loadProfile() names a missing file and lists the known profiles", async () => {
  const error = await assertRejects(() => loadProfile("/none/mine.jsonc"), Deno.errors.NotFound);
  assertEquals(
    error.message,
    "Cannot find profile '/none/mine.jsonc': there is no file '/none/mine.jsonc'; " +
      "profiles that need no file are evaluation, python, reason, science, serve, strict, tools, workspace",
  );
});

Deno.test("loadProfile() refuses a folder, and text that is not UTF-8", async () => {
  await using dir = await TempFolder.of({ "bad.jsonc": new Uint8Array([0x7b, 0xff, 0x7d]) });
  const error = await assertRejects(() => loadProfile(`${dir.path}/`), Error);
  assertStringIncludes(error.message, `Cannot read profile '${dir.path}/' as it must be a readable file: `);
  const path = `${dir.path}/bad.jsonc`;
  const encoding = await assertRejects(() => loadProfile(path), SyntaxError);
  assertEquals(encoding.message, `Cannot read profile '${path}' as it must be UTF-8: found an invalid byte`);
});

Deno.test("loadProfile() refuses a profile whose mount is missing", async () => {
  await using dir = await TempFolder.of({ "mine.jsonc": '{ "mounts": { "/data": "gone" } }' });
  const path = `${dir.path}/mine.jsonc`;
  const error = await assertRejects(() => loadProfile(path), Deno.errors.NotFound);
  assertEquals(
    error.message,
    `Cannot load profile '${path}' as its mounts and packages must exist: there is no '${dir.path}/gone'`,
  );
});
