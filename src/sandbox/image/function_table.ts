import { FUNCTION_SLOTS } from "../guest/python/main_functions.ts";
import { join } from "../protocol.ts";
import {
  CUSTOM,
  ELEMENT,
  encodeModule,
  encodeNumber,
  encodeSigned,
  EXPORT,
  readExports,
  sectionBody,
  TABLE,
  tableEntries,
  WASM_HEADER_BYTES,
  WasmReader,
  type WasmSection,
  wasmSections,
} from "./wasm.ts";

const encoder = new TextEncoder();
const [I32_CONST, END, FUNCTION_REFERENCE] = [0x41, 0x0b, 0x70];

/** Options of {@linkcode addToTable}. */
export interface AddToTableOptions {
  /** Names of exported functions to which the table gives slots. */
  readonly names: ReadonlySet<string>;
  /** Names of exported functions whose slots, the last ones, are empty in a restored interpreter. */
  readonly withheld: readonly string[];
  readonly isRestored: boolean;
}

/**
 * Returns a module whose function table has exported functions, and a custom section {@linkcode FUNCTION_SLOTS} with
 * the slots of `names`. A function that the table has already keeps its slot, as C compares the addresses of functions.
 *
 * A restored interpreter finds a function by its name through this section. As exports, 4,600 functions are as many
 * JavaScript objects in each session, which Emscripten adds to the table one by one when a session starts.
 *
 * @throws {SyntaxError} if the table is not as the linker of LLVM writes it.
 */
export function addToTable(
  wasm: Uint8Array,
  { names, withheld, isRestored }: AddToTableOptions,
): Uint8Array<ArrayBuffer> {
  const sections = [...wasmSections(wasm)];
  const { functions } = readExports(sectionBody(sections, EXPORT));
  const { limit, slots } = readTable(sectionBody(sections, TABLE), sectionBody(sections, ELEMENT));
  const added: number[] = [];
  const slotByName: Record<string, number> = {};
  for (const [name, index] of functions) {
    if (!names.has(name)) continue;
    let slot = slots.get(index);
    if (slot === undefined) {
      slot = limit + added.length;
      slots.set(index, slot);
      added.push(index);
    }
    slotByName[name] = slot;
  }
  const last = withheld.map((name) => functions.get(name)).filter((index) => index !== undefined);
  const filled = isRestored ? added : [...added, ...last];
  const change = ({ id, body }: WasmSection): WasmSection => {
    if (id === TABLE) return { id, body: growTable(body, added.length + last.length) };
    if (id === ELEMENT) return { id, body: addSegment(body, { limit, added: filled }) };
    return { id, body };
  };
  return encodeModule(wasm.subarray(0, WASM_HEADER_BYTES), [
    ...sections.map(change),
    { id: CUSTOM, body: customSection(FUNCTION_SLOTS, encoder.encode(JSON.stringify(slotByName))) },
  ]);
}

/** Reads the size of the table of functions, which is the first, and the first slot of each function in it. */
function readTable(table: Uint8Array, element: Uint8Array): { limit: number; slots: Map<number, number> } {
  const tables = new WasmReader(table);
  tables.number();
  const [type, flags, limit] = [tables.byte(), tables.byte(), tables.number()];
  const slots = new Map<number, number>();
  for (const { slot, index } of tableEntries(element)) {
    if (!slots.has(index)) slots.set(index, slot);
  }
  if (type !== FUNCTION_REFERENCE || flags > 1) throw unexpected("its first table has no functions");
  return { limit, slots };
}

/** Returns the table section with so many slots more in the first table. */
function growTable(body: Uint8Array, slots: number): Uint8Array {
  const reader = new WasmReader(body);
  reader.number();
  reader.byte();
  const hasMaximum = reader.byte() === 1;
  const head = body.subarray(0, reader.at);
  const limits = [reader.number(), ...(hasMaximum ? [reader.number()] : [])];
  return join([head, ...limits.map((limit) => encodeNumber(limit + slots)), body.subarray(reader.at)]);
}

function addSegment(
  body: Uint8Array,
  { limit, added }: { limit: number; added: readonly number[] },
): Uint8Array {
  const reader = new WasmReader(body);
  const count = reader.number();
  return join([
    encodeNumber(count + 1),
    body.subarray(reader.at),
    new Uint8Array([0, I32_CONST, ...encodeSigned(limit), END]),
    encodeNumber(added.length),
    ...added.map((index) => encodeNumber(index)),
  ]);
}

function customSection(name: string, contents: Uint8Array): Uint8Array {
  const text = encoder.encode(name);
  return join([encodeNumber(text.length), text, contents]);
}

function unexpected(reason: string): SyntaxError {
  return new SyntaxError(`Cannot add functions to the table of module as ${reason}`);
}
