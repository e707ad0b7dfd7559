// @ts-types="./crypto.d.ts"
export { timingSafeEqual } from "npm:deno-std@1.4.0/crypto/timing_safe_equal.js";
