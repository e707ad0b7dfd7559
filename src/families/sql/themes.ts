/** A column with the values of generated rows. */
export type Column =
  | { readonly name: string; readonly type: "text"; readonly values: readonly string[] }
  | { readonly name: string; readonly type: "integer"; readonly min: number; readonly max: number };

/** A table to whose rows the facts refer. */
export interface Dimension {
  readonly table: string;
  readonly columns: readonly Column[];
}

/** A schema: a table of facts that refer to two others by the columns `<table>_id`. */
export interface Theme {
  readonly facts: string;
  readonly columns: readonly Column[];
  readonly dimensions: readonly [Dimension, Dimension];
}

const NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo", "Iris", "Jon", "Kim", "Leo"];
const CITIES = ["Bern", "Lyon", "Oslo", "Porto", "Riga"];

/** The schemas of problems. */
export const THEMES: readonly Theme[] = [
  {
    facts: "orders",
    columns: [
      { name: "quantity", type: "integer", min: 1, max: 9 },
      { name: "price", type: "integer", min: 5, max: 99 },
      { name: "status", type: "text", values: ["open", "paid", "sent"] },
    ],
    dimensions: [
      {
        table: "customers",
        columns: [
          { name: "name", type: "text", values: NAMES },
          { name: "city", type: "text", values: CITIES },
          { name: "joined", type: "integer", min: 2015, max: 2024 },
        ],
      },
      {
        table: "products",
        columns: [
          { name: "title", type: "text", values: ["lamp", "chair", "desk", "shelf", "clock", "vase", "rug"] },
          { name: "category", type: "text", values: ["home", "office", "garden"] },
          { name: "weight", type: "integer", min: 1, max: 40 },
        ],
      },
    ],
  },
  {
    facts: "loans",
    columns: [
      { name: "days", type: "integer", min: 1, max: 60 },
      { name: "renewals", type: "integer", min: 0, max: 5 },
      { name: "branch", type: "text", values: ["centre", "north", "south"] },
    ],
    dimensions: [
      {
        table: "members",
        columns: [
          { name: "name", type: "text", values: NAMES },
          { name: "town", type: "text", values: CITIES },
          { name: "born", type: "integer", min: 1950, max: 2010 },
        ],
      },
      {
        table: "books",
        columns: [
          { name: "title", type: "text", values: ["Dust", "Echo", "Fog", "Gold", "Haze", "Ink", "Joy"] },
          { name: "genre", type: "text", values: ["crime", "poetry", "travel"] },
          { name: "pages", type: "integer", min: 80, max: 700 },
        ],
      },
    ],
  },
  {
    facts: "flights",
    columns: [
      { name: "passengers", type: "integer", min: 20, max: 180 },
      { name: "delay", type: "integer", min: 0, max: 90 },
      { name: "season", type: "text", values: ["spring", "summer", "winter"] },
    ],
    dimensions: [
      {
        table: "pilots",
        columns: [
          { name: "name", type: "text", values: NAMES },
          { name: "base", type: "text", values: CITIES },
          { name: "hours", type: "integer", min: 200, max: 9000 },
        ],
      },
      {
        table: "planes",
        columns: [
          { name: "model", type: "text", values: ["A10", "B20", "C30", "D40", "E50", "F60", "G70"] },
          { name: "maker", type: "text", values: ["Aero", "Boreal", "Cirro"] },
          { name: "seats", type: "integer", min: 100, max: 300 },
        ],
      },
    ],
  },
];
