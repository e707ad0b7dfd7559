// @ts-types="./async.d.ts"
export { abortable } from "npm:deno-std@1.4.0/async/abortable.js";
export { delay } from "npm:deno-std@1.4.0/async/delay.js";
