// @ts-types="./regexp.d.ts"
export { escape } from "npm:deno-std@1.4.0/regexp/escape.js";
