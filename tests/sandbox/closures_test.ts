import { assertEquals } from "@std/assert";
import { Closures } from "../../src/sandbox/guest/closures.ts";

const BAD_TYPE = 1;
const CODE = 8;

/** The closures of an Emscripten that is none: it counts places from 100 on, and says which are given back. */
function closuresOf() {
  const heap = new Uint8Array(1024);
  const words = new DataView(heap.buffer);
  const [prepared, given]: [number[], number[]] = [[], []];
  let next = 0;
  const closures = new Closures(() => heap);
  const { env } = closures.watch({
    env: {
      ffi_closure_alloc_js(_bytes: number, code: number): number {
        const place = 100 + next++;
        const closure = 16 * next;
        words.setUint32(code, place, true);
        words.setUint32(closure, place, true);
        return closure;
      },
      ffi_prep_closure_loc_js: (...args: number[]): number => (prepared.push(args.at(-1) as number), 0),
      ffi_closure_free_js: (closure: number): void => void given.push(words.getUint32(closure, true)),
    },
  });
  const calls = env as unknown as Record<string, (...args: number[]) => number>;
  const call = (name: string, ...args: number[]) => calls[`ffi_${name}_js`]?.(...args) ?? 0;
  return { closures, words, prepared, given, call };
}

Deno.test("Closures puts a function into the place that was made for it, and into no other", () => {
  const { words, prepared, call } = closuresOf();
  const closure = call("closure_alloc", 16, CODE);
  const place = words.getUint32(CODE, true);
  assertEquals(call("prep_closure_loc", closure, 0, 0, 0, place), 0);
  assertEquals(call("prep_closure_loc", closure, 0, 0, 0, 17), BAD_TYPE);
  assertEquals(call("prep_closure_loc", 512, 0, 0, 0, place), BAD_TYPE);
  assertEquals(prepared, [place]);
});

Deno.test("Closures gives back a place once, and the one that was taken", () => {
  const { words, given, call } = closuresOf();
  const closure = call("closure_alloc", 16, CODE);
  words.setUint32(closure, 17, true);
  call("closure_free", closure);
  call("closure_free", closure);
  call("closure_free", 512);
  assertEquals(given, [100]);
});

Deno.test("Closures.freeAll() gives back what is left, the first place last", () => {
  const { closures, given, call } = closuresOf();
  const [, second = 0] = [1, 2, 3].map(() => call("closure_alloc", 16, CODE));
  call("closure_free", second);
  closures.freeAll();
  closures.freeAll();
  assertEquals(given, [101, 102, 100]);
});
