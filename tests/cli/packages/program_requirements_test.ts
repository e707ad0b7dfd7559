import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  inlineRequirements,
  readProgramRequirements,
  requirementsOf,
} from "../../../src/cli/packages/program_requirements.ts";
import { requirementName } from "../../../src/cli/packages/requirement.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { TempFolder } from "../../temp_folder.ts";

const SCRIPT = `#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "msgspec>=0.18",
#   "rich; sys_platform == 'linux'",
# ]
# ///
import msgspec
`;
const PROGRAM = { source: "a.py", python: "3.14.2" };

Deno.test("inlineRequirements() reads the dependencies of a program's metadata", () => {
  assertEquals(inlineRequirements(SCRIPT, PROGRAM), ["msgspec>=0.18", "rich; sys_platform == 'linux'"]);
  assertEquals(inlineRequirements("# /// script\n# ///\n", PROGRAM), []);
  assertEquals(inlineRequirements("import json\n", PROGRAM), undefined);
  assertEquals(inlineRequirements("# /// other\n# x = 1\n# ///\n", PROGRAM), undefined);
});

for (
  const [program, text] of [
    ["# /// script\n# dependencies = []\nimport json\n", "its block must end with '# ///'"],
    ["# /// script\n# dependencies = 3\n# ///\n", "'dependencies' must be an array of strings"],
    ["# /// script\n# dependencies = [\n# ///\n", "Cannot read metadata of 'a.py'"],
    [
      '# /// script\n# requires-python = ">=3.15"\n# ///\n',
      "it requires Python >=3.15: the sandbox has 3.14.2",
    ],
    ['# /// script\n# requires-python = "new"\n# ///\n', "'requires-python' must be a version specifier"],
    ["# /// script\n# requires-python = 3\n# ///\n", "'requires-python' must be a string"],
    ['# /// script\n# dependencies = ["--index-url=x"]\n# ///\n', "Cannot read requirement '--index-url=x'"],
  ] as const
) {
  Deno.test(`inlineRequirements() refuses ${JSON.stringify(program)}`, () => {
    assertThrows(() => inlineRequirements(program, PROGRAM), UsageError, text);
  });
}

Deno.test("requirementsOf() reads the lines of a requirements file", () => {
  const text = "# numbers\nmsgspec==0.22.0  # pinned\n\npydantic[email]>=2, \\\n  <3\n";
  assertEquals(requirementsOf(text, "r.txt"), ["msgspec==0.22.0", "pydantic[email]>=2,    <3"]);
  for (
    const line of ["-r other.txt", "--index-url https://x", "a --hash=sha256:1", "./a.whl", "a @ https://x"]
  ) {
    assertThrows(() => requirementsOf(line, "r.txt"), UsageError, "Cannot read");
  }
});

Deno.test("readProgramRequirements() prefers the metadata of the program to a file beside it", async () => {
  await using folder = await TempFolder.of({
    "inline.py": SCRIPT,
    "plain.py": "import six\n",
    "requirements.txt": "six\n",
    "alone/plain.py": "import six\n",
  });
  const read = (name: string) => readProgramRequirements(`${folder.path}/${name}`);
  assertEquals((await read("inline.py"))[0], "msgspec>=0.18");
  assertEquals(await read("plain.py"), ["six"]);
  await assertRejects(() => read("alone/plain.py"), UsageError, "requirements.txt");
  await assertRejects(() => read("missing.py"), UsageError, "Cannot read");
});

Deno.test("requirementName() returns the normalized name of a requirement", () => {
  assertEquals(requirementName("Typing_Extensions>=4; python_version<'3.15'"), "typing-extensions");
  assertEquals(requirementName("ruamel.yaml [x] ~= 0.18"), "ruamel-yaml");
  for (const text of ["", "-e .", "../a", "a/b", "a @ file:///b", "a\n--pre", "a\t", "x".repeat(501)]) {
    assertThrows(() => requirementName(text), UsageError, "Cannot read requirement");
  }
});
