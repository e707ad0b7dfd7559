// @ts-types="./csv.d.ts"
export { CsvParseStream } from "npm:deno-std@1.4.0/csv/parse_stream.js";
