import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { editPackages, userProfilePath } from "../../../src/cli/packages/profile_file.ts";
import { formatDownload } from "../../../src/cli/packages/progress.ts";
import type { PackageFile } from "../../../src/sandbox/profile/packages.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";

const DIGEST = "a".repeat(64);
const STORED: PackageFile = {
  name: "my-demo",
  kind: "stored",
  path: "my_demo-1.0-py3-none-any.whl",
  sha256: DIGEST,
  stored: { version: "1.0", source: "index", requirement: "my-demo>=1", neededBy: [] },
};
const TEXT = `{
  // a comment
  "packages": {
    // by hand
    "other": { "wheel": "/w/other-1.0-py3-none-any.whl", "sha256": "${DIGEST}" },
    "My_Demo": { "version": "0.9", "file": "my_demo-0.9-py3-none-any.whl", "sha256": "${DIGEST}", "source": "index" }
  },
  "shell": true // another
}
`;

Deno.test("editPackages() changes stored packages and keeps comments and other entries", () => {
  const edited = editPackages(TEXT, parse(TEXT), [STORED]);
  for (const comment of ["// a comment", "// by hand", "// another"]) assertStringIncludes(edited, comment);
  const { packages, shell } = parse(edited);
  assertEquals(packages.map(({ name, kind }) => [name, kind]), [["other", "wheel"], ["my-demo", "stored"]]);
  assertEquals(packages[1], STORED);
  assert(shell);
});

Deno.test("editPackages() removes stored packages that are not in the list", () => {
  assertEquals(parse(editPackages(TEXT, parse(TEXT), [])).packages.map(({ name }) => name), ["other"]);
});

Deno.test("editPackages() adds packages to a profile that has none", () => {
  assertEquals(parse(editPackages("{}", parse("{}"), [STORED])).packages, [STORED]);
});

Deno.test("editPackages() leaves the comment behind a last setting where it is", () => {
  const added = (text: string) => editPackages(text, parse(text), [STORED]);
  const lines = (text: string) => text.split("\n").map((line) => line.trim());
  for (const comma of ["", ","]) {
    const edited = added(`{\n  "shell": true${comma} // no comma, {"\n  /* the end */\n}\n`);
    assertEquals(lines(edited).slice(1, 5), [
      '"shell": true, // no comma, {"',
      "/* the end */",
      '"packages": {',
      '"my-demo": {',
    ]);
    assertEquals(parse(edited).packages, [STORED]);
  }
  const last = TEXT.replace('"source": "index" }\n', '"source": "index" } // mine\n').replace(
    "My_Demo",
    "old",
  );
  const replaced = added(last);
  assertStringIncludes(replaced, "// mine\n");
  assertEquals(parse(replaced).packages.map(({ name }) => name), ["other", "my-demo"]);
});

Deno.test("editPackages() keeps the comments beside the entries that it removes", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ ...STORED, name })) as [
    PackageFile,
    PackageFile,
    PackageFile,
  ];
  const all = ["// 1", "// 2", "// 3"].reduce(
    (text, comment, index) => text.replace(`"${"abc"[index]}": {`, `"${"abc"[index]}": { ${comment}`),
    editPackages("{}", parse("{}"), [a, b, c]),
  );
  const commented = all.replaceAll(/(\n {4}}),?/g, (match) => `${match} // behind`);
  for (const kept of [[b, c], [a, c], [a, b], [c], [a], []]) {
    const edited = editPackages(commented, parse(commented), kept);
    assertEquals(parse(edited).packages, kept);
    assertEquals(edited.match(/behind/g)?.length, 3);
  }
});

function parse(text: string) {
  return parseProfile(text, { source: "mine", directory: "/w" });
}

Deno.test("userProfilePath() is in the folder of the user's configuration", () => {
  const path = (env: Record<string, string>) => userProfilePath("python", { get: (name) => env[name] });
  assertEquals(path({ XDG_CONFIG_HOME: "/c", HOME: "/h" }), "/c/paddock/python.jsonc");
  assertEquals(path({ XDG_CONFIG_HOME: "c", HOME: "/h" }), "/h/.config/paddock/python.jsonc");
  assertEquals(path({}), undefined);
});

Deno.test("formatDownload() shows a bar if the size is known", () => {
  assertEquals(formatDownload({ done: 500_000, total: 1_000_000 }), "[############------------] 0.5/1.0 MB");
  assertEquals(formatDownload({ done: 500_000 }), "0.5 MB");
});
