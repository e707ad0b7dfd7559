/** Reads Parquet files. Its types are those of `parquet.d.ts`, without those of the libraries. */
// @ts-types="./parquet.d.ts"
export { readParquet } from "./parquet.ts";
