// @ts-types="./yaml.d.ts"
export { parse } from "npm:deno-std@1.4.0/yaml/parse.js";
