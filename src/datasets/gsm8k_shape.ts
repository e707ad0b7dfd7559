import { z } from "zod";
import { parseRow } from "./checked.ts";
import { otherFields, type RowShape, textField } from "./row_shape.ts";

const ANSWER =
  "must end in a line '#### number' in a row with a 'question', as in GSM8K; otherwise use the field 'query'";

const gsm8kRow = z.object({
  id: textField.optional(),
  question: z.string().min(1),
  answer: z.string(ANSWER).regex(/\n?####[^\n]*\d/, ANSWER),
});

/** Rows of GSM8K: `{ question, answer }`. The answer is a worked solution that ends in `#### number`. */
export const gsm8kShape: RowShape = {
  matches: ({ question, answer }) =>
    question !== undefined && typeof answer === "string" && answer.includes("####"),
  queryKey: "question",
  task(row, location) {
    const { id, question, answer } = parseRow(gsm8kRow, row, location);
    const cut = answer.lastIndexOf("####");
    return {
      ...(id !== undefined && { id }),
      query: question,
      answer: answer.slice(cut + 4).trim(),
      reference: answer.slice(0, cut).trimEnd(),
      ...otherFields(row, ["id", "question", "answer"]),
    };
  },
};
