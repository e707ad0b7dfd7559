const BAD_TYPE = 1;

type Call = (...args: number[]) => number;

/**
 * The functions of Python's that `ctypes` lets C call. Each has a place in the table of functions, which is none of
 * Python's memory: nobody puts one in a place that was not made for it, and all places are given back by a rewind.
 */
export class Closures {
  readonly #heap: () => Uint8Array;
  readonly #places = new Map<number, number>();
  #giveBack: Call = () => 0;

  /** @param heap Gives Python's memory. */
  constructor(heap: () => Uint8Array) {
    this.#heap = heap;
  }

  /** The imports with those that make and free closures watched. */
  watch(imports: WebAssembly.Imports): WebAssembly.Imports {
    const { env = {} } = imports;
    const make = env.ffi_closure_alloc_js as Call;
    const prepare = env.ffi_prep_closure_loc_js as Call;
    this.#giveBack = env.ffi_closure_free_js as Call;
    const watched = {
      ffi_closure_alloc_js: (bytes: number, place: number) => {
        const closure = make(bytes, place);
        this.#places.set(closure, this.#words().getUint32(place >>> 0, true));
        return closure;
      },
      ffi_prep_closure_loc_js: (closure: number, ...rest: number[]) => {
        return this.#places.get(closure) === rest.at(-1) ? prepare(closure, ...rest) : BAD_TYPE;
      },
      ffi_closure_free_js: (closure: number) => this.#free(closure),
    };
    return { ...imports, env: { ...env, ...watched } };
  }

  /** Gives all places back, so that the first is the next to be taken. */
  freeAll(): void {
    for (const closure of [...this.#places.keys()].reverse()) this.#free(closure);
  }

  #free(closure: number): void {
    const place = this.#places.get(closure);
    if (place === undefined) return;
    this.#places.delete(closure);
    this.#words().setUint32(closure >>> 0, place, true); // Python may have written another there
    this.#giveBack(closure);
  }

  #words(): DataView {
    return new DataView(this.#heap().buffer);
  }
}
