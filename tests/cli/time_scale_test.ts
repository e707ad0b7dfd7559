import { assertEquals, assertRejects } from "@std/assert";
import { UsageError } from "../../src/cli/cli_errors.ts";
import { withTimeScale } from "../../src/cli/time_scale.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";

const { signal } = new AbortController();

Deno.test("withTimeScale() sets the factor of a profile, and leaves it without the option", async () => {
  const profile = await loadProfile("python");
  assertEquals(await withTimeScale(profile, { signal }), profile);
  assertEquals(await withTimeScale(profile, { timeScale: "2.3", signal }), { ...profile, timeScale: 2.3 });
});

Deno.test("withTimeScale() refuses what is no factor", async () => {
  const profile = await loadProfile("python");
  for (const timeScale of ["", " ", "0", "21", "2,3", "Auto"]) {
    await assertRejects(
      () => withTimeScale(profile, { timeScale, signal }),
      UsageError,
      "'auto' or a number",
    );
  }
});
