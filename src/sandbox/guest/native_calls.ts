/**
 * What `ctypes` says of a C function is in Python's memory, where Python can write what it likes: a count of
 * arguments without end, or a structure that holds itself, in which Emscripten's JavaScript would search for ever.
 */

/** As many as `ctypes` takes. */
const MAX_ARGUMENTS = 1024;
const MAX_STRUCTURE_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const STRUCTURE = 13;
/** Where the fields of libffi's `ffi_cif` and `ffi_type` are. */
const [CIF_COUNT, CIF_ARGUMENTS, CIF_RESULT, CIF_FIXED, CIF_BYTES] = [4, 8, 12, 24, 28];
const [TYPE_SIZE, TYPE_KIND, TYPE_ELEMENTS, TYPE_BYTES] = [0, 6, 8, 12];

/** Whether the description of a call at an address is none that `ctypes` makes. */
export function isForgedCall(heap: Uint8Array, call: number): boolean {
  const view = new DataView(heap.buffer, heap.byteOffset, heap.length);
  const at = call >>> 0;
  if (at + CIF_BYTES > heap.length) return true;
  const count = view.getUint32(at + CIF_COUNT, true);
  if (count > MAX_ARGUMENTS || view.getUint32(at + CIF_FIXED, true) > count) return true;
  const types = view.getUint32(at + CIF_ARGUMENTS, true);
  if (types + 4 * count > heap.length) return true;
  if (isForgedType(view, view.getUint32(at + CIF_RESULT, true))) return true;
  for (let index = 0; index < count; index++) {
    if (isForgedType(view, view.getUint32(types + 4 * index, true))) return true;
  }
  return false;
}

/** Follows a structure into its first field, as long as there is one. */
function isForgedType(view: DataView, type: number): boolean {
  let at = type;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (at + TYPE_BYTES > view.byteLength) return true;
    if (view.getUint16(at + TYPE_KIND, true) !== STRUCTURE) return false;
    if (view.getUint32(at + TYPE_SIZE, true) > MAX_STRUCTURE_BYTES) return true;
    const elements = view.getUint32(at + TYPE_ELEMENTS, true);
    if (elements + 4 > view.byteLength) return true;
    at = view.getUint32(elements, true);
    if (at === 0) return false;
  }
  return true;
}
