import { assertEquals, assertStringIncludes } from "@std/assert";
import { type DoctorReport, findFixes, formatReport, isAtLeast } from "../../src/cli/doctor.ts";
import { PYODIDE_VERSION } from "../../src/sandbox/image/pyodide.ts";
import { DENO_VERSION } from "../../src/version.ts";

const found: Omit<DoctorReport, "fixes"> = {
  ok: false,
  paddock: "0.1.0",
  deno: { version: DENO_VERSION, ok: true },
  pyodide: PYODIDE_VERSION,
  profile: "strict",
  layers: [
    { layer: "rlimits", installed: true, works: true, mode: "required", active: true, missing: false },
    {
      layer: "watchdog",
      installed: false,
      works: false,
      why: "there is no /proc/self/statm",
      mode: "required",
      active: false,
      missing: true,
    },
    { layer: "bubblewrap", installed: true, works: true, mode: "off", active: false, missing: false },
  ],
  image: null,
  attempts: [],
  times: null,
  failure: "Cannot start sandbox",
};
const report: DoctorReport = { ...found, fixes: findFixes(found) };

Deno.test("findFixes() has a fix for each problem, and none without a problem", () => {
  const sound = { ...found, layers: [], failure: null };
  assertEquals(findFixes(sound), []);
  const attempt = { name: "files are bounded", holds: false, seen: "ok" };
  const wall = { name: "not root", holds: false, seen: "user 0 of the host" };
  const fixes = findFixes({
    ...sound,
    deno: { version: "2.0.0", ok: false },
    layers: found.layers.map((layer) => ({
      ...layer,
      works: false,
      missing: false,
      mode: "optional" as const,
    })),
    failure: "Cannot start",
    attempts: [attempt],
    walls: [wall],
  });
  assertEquals(fixes.map(({ problem }) => problem), [
    "Deno 2.0.0",
    "rlimits",
    "watchdog",
    "no sandbox starts",
    "not true: files are bounded",
    "not true: not root",
  ]);
});

Deno.test("findFixes() names the commands for namespaces that do not work", () => {
  const layers = (["userNamespace", "netNamespace"] as const).map((layer) => ({
    layer,
    installed: true,
    works: false,
    mode: "optional" as const,
    active: false,
    missing: false,
  }));
  const [{ problem, fix } = { problem: "", fix: "" }] = findFixes({ ...found, layers, failure: null });
  assertEquals(problem, "userNamespace, netNamespace");
  assertStringIncludes(fix, "apt install util-linux bubblewrap");
  assertStringIncludes(fix, "sysctl -w user.max_user_namespaces=15000");
});

Deno.test("formatReport() marks a missing layer and explains why no attempt was made", () => {
  assertEquals(
    formatReport(report, { colour: false }),
    `Paddock 0.1.0, profile strict
✓ Deno ${DENO_VERSION} (requires 2.9.4 or later)
✓ Pyodide ${PYODIDE_VERSION}

Operating system layers
✓ rlimits       required   active
✗ watchdog      required   does not work: there is no /proc/self/statm
- bubblewrap    off        works, not used

✗ Cannot start sandbox

How to fix it
  watchdog: mount /proc without hidepid (mount -o remount,hidepid=0 /proc)
`,
  );
});

Deno.test("formatReport() colours failed lines red if colour is true", () => {
  const coloured = formatReport(report, { colour: true });
  assertEquals(
    coloured.split("\n").filter((line) => line.startsWith("\x1b[31m✗ ") && line.endsWith("\x1b[0m")).length,
    2,
  );
});

Deno.test("isAtLeast() compares versions numerically", () => {
  const cases: [string, boolean][] = [
    ["2.9.4", true],
    ["2.10.0", true],
    ["3.0.0", true],
    ["2.9.3", false],
    ["2.8.10", false],
    ["1.46.3", false],
    ["2.9.4-rc.1", true],
  ];
  for (const [version, expected] of cases) assertEquals(isAtLeast(version, "2.9.4"), expected, version);
});

Deno.test("formatReport() shows settings of the host with advice for those that are on, and fails for none", () => {
  const host = [
    { name: "SMT", isOn: true, seen: "on", advice: "boot with nosmt" },
    { name: "KSM", isOn: false, seen: "off", advice: "no advice" },
    { name: "swap", isOn: null, seen: "unknown", advice: "no advice" },
  ] as const;
  const text = formatReport({ ...report, host }, { colour: false });
  assertStringIncludes(
    text,
    "The host, which Paddock does not change\n- SMT   on\n        boot with nosmt\n✓ KSM   off\n- swap  unknown\n",
  );
  assertEquals(findFixes({ ...found, host }), findFixes(found));
});
