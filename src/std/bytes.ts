// @ts-types="./bytes.d.ts"
export { concat } from "npm:deno-std@1.4.0/bytes/concat.js";
