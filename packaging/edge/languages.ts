export { eld } from "eld/extrasmall";
