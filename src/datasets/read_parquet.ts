/** Reads Parquet files. `parquet.d.ts` has the types, without types of the libraries. */
// @ts-types="./parquet.d.ts"
export { readParquet } from "./parquet.ts";
