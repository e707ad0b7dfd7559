import { textAt } from "../denials.ts";
import type { Pointer, PythonExports } from "../emscripten.ts";
import {
  addressKind,
  instantiateSideModule,
  type LinkedInstance,
  type LinkInfo,
  type ModuleExports,
  type SideModule,
} from "./side_module.ts";

/** Place of a loaded side module. An instance that replaces it must get the same values. */
export interface LoadedPlace {
  /** Index of the side module. */
  readonly library: number;
  readonly memoryBase: Pointer;
  readonly tableBase: number;
  /** Addresses of its imported data and functions, in the order of its imports. */
  readonly addresses: readonly number[];
  /** Slots of functions that were added to the table singly, by their names. */
  readonly addedSlots: Record<string, number>;
}

/** State of the linker that is not in the heap of an image. */
export interface LinkImage {
  readonly tableSlots: number;
  /** Loaded side modules, in the order of loading. */
  readonly places: readonly LoadedPlace[];
  /** Address of each handle of `dlopen`, and an index of `places`. */
  readonly handles: readonly (readonly [Pointer, number])[];
  /** Slots of the main module's functions whose addresses side modules take. */
  readonly mainSlots: Readonly<Record<string, number>>;
  /** Names of those that have no slot in the main module itself. */
  readonly added: readonly string[];
}

type Call = (...args: unknown[]) => unknown;
type Loaded = LoadedPlace & { readonly exports: ModuleExports };
/** Functions and data that a table range keeps after its library was forgotten. */
type Range = Pick<LoadedPlace, "tableBase" | "addedSlots">;

/** Offsets of fields of Emscripten's `struct dso`. */
const [DSO_ALLOCATED, DSO_MEMORY, DSO_BYTES, DSO_TABLE, DSO_SLOTS, DSO_NAME] = [8, 12, 16, 20, 24, 36];

/**
 * Loads side modules, as Emscripten's linker does, whose own state could not be part of an image. It opens only the
 * side modules of the profile. A side module gets nothing but exports of the main module and of the libraries that it
 * needs, so that it can do no more than C code of the main module.
 *
 * Steps and formats follow the tool conventions of WebAssembly, "Dynamic Linking".
 */
export class Linker {
  readonly #libraries: readonly SideModule[];
  readonly #mainExports: () => PythonExports;
  readonly #compiled = new Map<WebAssembly.Module | Uint8Array, WebAssembly.Module>();
  readonly #loaded: Loaded[] = [];
  readonly #handles = new Map<Pointer, Loaded>();
  readonly #mainSlots = new Map<string, number>();
  readonly #added: string[] = [];
  /** Ranges of the table by library. A library that is loaded again after a rewind takes the same range. */
  readonly #ranges = new Map<number, Range>();
  /** Slots of a loaded library's functions, for libraries of which a function was looked up. */
  readonly #librarySlots = new Map<number, Map<unknown, number>>();
  #image: LinkImage | undefined;

  /** @param mainExports Returns the exports of the main module. */
  constructor(libraries: readonly SideModule[], mainExports: () => PythonExports) {
    this.#libraries = libraries;
    this.#mainExports = mainExports;
  }

  /** Returns the main module's imports with this linker behind `dlopen` and `dlsym`. */
  wrapImports(imports: WebAssembly.Imports): WebAssembly.Imports {
    if (this.#libraries.length === 0) return imports;
    const find = imports.env?._dlsym_js as Call;
    const linked = {
      _dlopen_js: (handle: number) => this.#open(handle >>> 0),
      _dlsym_js: (handle: number, name: number, index: number) => {
        const loaded = this.#handles.get(handle >>> 0);
        return loaded ? this.#slotOf(loaded, this.#textAt(name >>> 0)) : find(handle, name, index);
      },
    };
    return { ...imports, env: { ...imports.env, ...linked } };
  }

  /** Returns the state for an image. Absent if the profile has no side modules. */
  capture(): LinkImage | undefined {
    if (this.#libraries.length === 0) return undefined;
    this.#findMainSlots();
    return {
      tableSlots: this.#table.length,
      places: this.#loaded.map(({ exports: _, ...place }) => place),
      handles: [...this.#handles].map(([handle, loaded]) => [handle, this.#loaded.indexOf(loaded)]),
      mainSlots: Object.fromEntries(this.#mainSlots),
      added: this.#added,
    };
  }

  /** Creates the instances of an image. Their data are in the heap, so that nothing of them runs. */
  restore(image: LinkImage | undefined): void {
    if (!image) return;
    this.#image = image;
    this.#table.grow(Math.max(0, image.tableSlots - this.#table.length));
    for (const [name, slot] of Object.entries(image.mainSlots)) this.#mainSlots.set(name, slot);
    for (const name of image.added) {
      this.#table.set(image.mainSlots[name] as number, this.#main[name] as Call);
    }
    for (const place of image.places) this.#place(place);
    this.#restoreHandles(image);
  }

  /** Creates an instance in its place. Nothing of it runs. */
  #place(place: LoadedPlace): void {
    const { exports, addresses } = this.#instantiate(place);
    addresses.forEach(({ global }, index) => global.value = place.addresses[index] as number);
    const { tableBase, addedSlots } = place;
    for (const [name, slot] of Object.entries(addedSlots)) this.#table.set(slot, exports[name] as Call);
    this.#loaded.push({ ...place, exports });
    this.#ranges.set(place.library, { tableBase, addedSlots });
  }

  /**
   * Takes over the libraries and addresses of a checkpoint that the image has not, after a rewind and before the heap is
   * written: a new instance writes its initial data to it.
   *
   * @throws {Error} if a slot of a function is in use again.
   */
  adopt({ places, handles }: LinkImage): void {
    const known = this.#loaded.length;
    const firstFree = this.#table.length;
    for (const place of places) this.#requireFreeSlots(place, firstFree);
    const ends = places.flatMap(({ library, tableBase, addedSlots }) => [
      tableBase + this.#linkOf(library).tableSlots,
      ...Object.values(addedSlots).map((slot) => slot + 1),
    ]);
    this.#table.grow(Math.max(firstFree, ...ends) - firstFree);
    places.slice(0, known).forEach((place, index) => this.#addSlots(this.#loaded[index] as Loaded, place));
    places.slice(known).forEach((place) => this.#place(place));
    this.#restoreHandles({ handles });
  }

  /** Throws if another function may be at an address of a library. */
  #requireFreeSlots({ library, tableBase, addedSlots }: LoadedPlace, firstFree: number): void {
    const range = this.#ranges.get(library);
    const isTaken = Object.entries(addedSlots).some(([name, slot]) =>
      slot < firstFree && range?.addedSlots[name] !== slot
    );
    if (isTaken || !this.#libraries[library] || tableBase < firstFree && range?.tableBase !== tableBase) {
      throw new Error(`Cannot load library ${library} as its slots of the function table are in use`);
    }
  }

  /** Gives functions of a library of the image the addresses that were looked up since. */
  #addSlots({ exports, addedSlots }: Loaded, place: LoadedPlace): void {
    for (const [name, slot] of Object.entries(place.addedSlots)) {
      this.#table.set(slot, exports[name] as Call);
      addedSlots[name] = slot;
    }
  }

  /** Forgets the libraries that were loaded since the image was restored. */
  rewind(): void {
    const image = this.#image;
    if (!image) return;
    for (const { library, tableBase, addedSlots } of this.#loaded.splice(image.places.length)) {
      this.#librarySlots.delete(library);
      const { tableSlots } = this.#linkOf(library);
      for (let slot = tableBase; slot < tableBase + tableSlots; slot++) this.#table.set(slot, null);
      for (const slot of Object.values(addedSlots)) this.#table.set(slot, null);
    }
    this.#restoreHandles(image);
  }

  #restoreHandles({ handles }: Pick<LinkImage, "handles">): void {
    this.#handles.clear();
    for (const [handle, index] of handles) this.#handles.set(handle, this.#loaded[index] as Loaded);
  }

  get #main(): ModuleExports {
    return this.#mainExports() as unknown as ModuleExports;
  }

  get #table(): WebAssembly.Table {
    return this.#mainExports().__indirect_function_table;
  }

  #linkOf(library: number): LinkInfo {
    return (this.#libraries[library] as SideModule).link;
  }

  /** Opens the library of a `struct dso`. Returns 1, or 0 if it cannot be loaded, in which case `dlopen` fails. */
  #open(handle: Pointer): number {
    const path = this.#textAt(handle + DSO_NAME);
    const library = this.#libraries.findIndex((candidate) => candidate.path === path);
    if (library < 0) return 0;
    const loaded = this.#load(library);
    if (!loaded) return 0;
    const { memoryBytes, tableSlots } = this.#linkOf(library);
    const struct = new DataView(this.#mainExports().memory.buffer, handle);
    struct.setUint8(DSO_ALLOCATED, 1);
    struct.setUint32(DSO_MEMORY, loaded.memoryBase, true);
    struct.setUint32(DSO_BYTES, memoryBytes, true);
    struct.setUint32(DSO_TABLE, loaded.tableBase, true);
    struct.setUint32(DSO_SLOTS, tableSlots, true);
    this.#handles.set(handle, loaded);
    return 1;
  }

  /** Loads a library after those that it needs. Returns `undefined` if there is not enough memory. */
  #load(library: number): Loaded | undefined {
    const earlier = this.#loaded.find((loaded) => loaded.library === library);
    if (earlier) return earlier;
    for (const name of this.#linkOf(library).libraries) {
      if (!this.#load(this.#indexOf(name))) return undefined;
    }
    this.#findMainSlots();
    const memoryBase = this.#allocate(this.#linkOf(library));
    if (memoryBase === undefined) return undefined;
    const { tableBase, addedSlots } = this.#reserveRange(library);
    const { exports, addresses } = this.#instantiate({ library, memoryBase, tableBase });
    for (const [name, slot] of Object.entries(addedSlots)) this.#table.set(slot, exports[name] as Call);
    const linking: Loaded = { library, memoryBase, tableBase, addedSlots, addresses: [], exports };
    for (const { kind, name, global } of addresses) {
      global.value = kind === "function"
        ? this.#functionAddress(linking, name)
        : this.#dataAddress(linking, name);
    }
    const loaded = { ...linking, addresses: addresses.map(({ global }) => global.value) };
    this.#loaded.push(loaded);
    (exports.__wasm_apply_data_relocs as Call | undefined)?.();
    (exports.__wasm_call_ctors as Call | undefined)?.();
    return loaded;
  }

  /** Allocates zeroed memory for a library's data. It is never freed. */
  #allocate({ memoryBytes, alignment }: LinkInfo): Pointer | undefined {
    if (memoryBytes === 0) return 0;
    const { malloc, memory } = this.#mainExports();
    const address = malloc(memoryBytes + alignment) >>> 0;
    if (address === 0) return undefined;
    new Uint8Array(memory.buffer, address, memoryBytes + alignment).fill(0);
    return Math.ceil(address / alignment) * alignment;
  }

  #reserveRange(library: number): Range {
    const earlier = this.#ranges.get(library);
    if (earlier) return earlier;
    const range = { tableBase: this.#table.grow(this.#linkOf(library).tableSlots), addedSlots: {} };
    this.#ranges.set(library, range);
    return range;
  }

  #compile(code: WebAssembly.Module | Uint8Array): WebAssembly.Module {
    if (code instanceof WebAssembly.Module) return code;
    const module = this.#compiled.get(code) ?? new WebAssembly.Module(code.slice());
    this.#compiled.set(code, module);
    return module;
  }

  #indexOf(fileName: string): number {
    return this.#libraries.findIndex(({ path }) => path.endsWith(`/${fileName}`));
  }

  /** Returns the loaded libraries that a library needs. */
  #neededBy(library: number): Loaded[] {
    const needed = this.#linkOf(library).libraries.map((name) => this.#indexOf(name));
    return this.#loaded.filter((loaded) => needed.includes(loaded.library));
  }

  /** Creates an instance, whose imported addresses are still 0. */
  #instantiate(place: Pick<LoadedPlace, "library" | "memoryBase" | "tableBase">): LinkedInstance {
    const { code, trampolines } = this.#libraries[place.library] as SideModule;
    return instantiateSideModule(this.#compile(code), {
      ...place,
      main: this.#main,
      needed: this.#neededBy(place.library).map(({ exports }) => exports),
      ...(trampolines && { trampolines: this.#compile(trampolines) }),
    });
  }

  #dataAddress(loaded: Loaded, name: string): number {
    const inMain = this.#main[name];
    if (inMain instanceof WebAssembly.Global) return Number(inMain.value);
    for (const candidate of [...this.#neededBy(loaded.library), loaded]) {
      const address = dataAddressIn(candidate, name);
      if (address !== undefined) return address;
    }
    return 0;
  }

  #functionAddress(loaded: Loaded, name: string): number {
    const inMain = this.#mainSlots.get(name);
    if (inMain !== undefined) return inMain;
    const owner = [...this.#neededBy(loaded.library), loaded]
      .find(({ exports }) => typeof exports[name] === "function");
    return owner ? this.#slotOf(owner, name) : 0;
  }

  /** Returns the address of a library's symbol, which for a function is its slot; 0 if it has no such symbol. */
  #slotOf(loaded: Loaded, name: string): number {
    const call = loaded.exports[name];
    if (typeof call !== "function") return dataAddressIn(loaded, name) ?? 0;
    const { library, addedSlots } = loaded;
    const slots = this.#librarySlots.get(library) ?? this.#readSlots(loaded);
    this.#librarySlots.set(library, slots);
    return slots.get(call) ?? (addedSlots[name] ??= this.#addToTable(call as Call));
  }

  /** Returns the slots that a library's own module has filled. */
  #readSlots({ library, tableBase }: Loaded): Map<unknown, number> {
    const slots = new Map<unknown, number>();
    const end = tableBase + this.#linkOf(library).tableSlots;
    for (let slot = tableBase; slot < end; slot++) slots.set(this.#table.get(slot), slot);
    return slots;
  }

  #addToTable(call: Call): number {
    const slot = this.#table.grow(1);
    this.#table.set(slot, call);
    return slot;
  }

  /**
   * Finds the slots of the main module's functions whose addresses any library takes, once for an image. C compares
   * such addresses, so that each must be the slot that the main module itself uses.
   */
  #findMainSlots(): void {
    if (this.#mainSlots.size > 0 || this.#image) return;
    const names = new Map<unknown, string[]>();
    for (const { code } of this.#libraries) {
      for (const { module: from, name } of WebAssembly.Module.imports(this.#compile(code))) {
        const call = this.#main[name];
        if (addressKind(from) !== "function" || typeof call !== "function") continue;
        names.set(call, [...names.get(call) ?? [], name]);
      }
    }
    for (let slot = this.#table.length - 1; slot > 0; slot--) {
      for (const name of names.get(this.#table.get(slot)) ?? []) this.#mainSlots.set(name, slot);
    }
    for (const [call, [first = "", ...others]] of names) {
      if (this.#mainSlots.has(first)) continue;
      const slot = this.#addToTable(call as Call);
      this.#added.push(first);
      for (const name of [first, ...others]) this.#mainSlots.set(name, slot);
    }
  }

  #textAt(address: Pointer): string {
    return textAt(new Uint8Array(this.#mainExports().memory.buffer), address);
  }
}

/** Returns the address of a library's data, if it exports them. */
function dataAddressIn({ exports, memoryBase }: Loaded, name: string): number | undefined {
  const data = exports[name];
  return data instanceof WebAssembly.Global ? Number(data.value) + memoryBase : undefined;
}
