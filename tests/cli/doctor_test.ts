import { assertEquals } from "@std/assert";
import { type DoctorReport, formatReport, isAtLeast } from "../../src/cli/doctor.ts";

const report: DoctorReport = {
  ok: false,
  paddock: "0.1.0",
  deno: { version: "2.9.6", ok: true },
  pyodide: "314.0.7",
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

Deno.test("formatReport() marks a missing layer and explains why no attempt was made", () => {
  assertEquals(
    formatReport(report, { colour: false }),
    `Paddock 0.1.0, profile strict
✓ Deno 2.9.6 (requires 2.9.4 or later)
✓ Pyodide 314.0.7

Operating system layers
✓ rlimits       required   active
✗ watchdog      required   does not work: there is no /proc/self/statm
- bubblewrap    off        works, not used

How to get what is missing
  watchdog: mount /proc without hidepid

✗ Cannot start sandbox
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
