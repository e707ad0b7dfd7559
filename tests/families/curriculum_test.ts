import { assertEquals, assertThrows } from "@std/assert";
import { Curriculum } from "../../src/families/curriculum.ts";

function play(curriculum: Curriculum, rewards: readonly (number | null)[]): void {
  for (const reward of rewards) curriculum.record({ difficulty: curriculum.difficulty, reward });
}

Deno.test("Curriculum raises the difficulty above a pass rate, and lowers it below another", () => {
  const curriculum = new Curriculum({ window: 4, difficulty: 3 });
  play(curriculum, [1, 1, 1]);
  assertEquals(curriculum.difficulty, 3);
  play(curriculum, [1]);
  assertEquals(curriculum.difficulty, 4);
  play(curriculum, [0, 0, 1, 0]);
  assertEquals(curriculum.difficulty, 3);
  play(curriculum, [1, 0, 1, 0, 1, 0, 1, 0]);
  assertEquals(curriculum.difficulty, 3);
});

Deno.test("Curriculum keeps to the difficulties from 1 to 10", () => {
  const curriculum = new Curriculum({ window: 1 });
  play(curriculum, [0]);
  assertEquals(curriculum.difficulty, 1);
  play(curriculum, new Array(20).fill(1));
  assertEquals(curriculum.difficulty, 10);
});

Deno.test("Curriculum ignores episodes without a score and episodes of another difficulty", () => {
  const curriculum = new Curriculum({ window: 2 });
  play(curriculum, [null, null, 1]);
  curriculum.record({ difficulty: 5, reward: 1 });
  assertEquals(curriculum.state, { difficulty: 1, passed: [true] });
});

Deno.test("Curriculum.restore() continues from a state", () => {
  const curriculum = new Curriculum({ window: 3 });
  curriculum.restore({ difficulty: 4, passed: [true, true] });
  play(curriculum, [1]);
  assertEquals(curriculum.difficulty, 5);
});

Deno.test("Curriculum refuses options that are out of range", () => {
  assertThrows(() => new Curriculum({ difficulty: 0 }), RangeError, "'difficulty'");
  assertThrows(() => new Curriculum({ window: 0 }), RangeError, "'window'");
  assertThrows(() => new Curriculum({ low: 0.8 }), RangeError, "low < high");
});
