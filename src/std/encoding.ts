// @ts-types="./encoding.d.ts"
export { decodeBase64, encodeBase64 } from "npm:deno-std@1.4.0/encoding/base64.js";
export { encodeHex } from "npm:deno-std@1.4.0/encoding/hex.js";
