import * as z from "zod";

const text = z.string({ error: "must be a text" });
const flag = z.boolean({ error: "must be true or false" });
const path = z.string({ error: "must be a relative path" }).refine(
  (value) => value !== "" && !value.startsWith("/") && !value.includes("\0"),
  { error: "must be a relative path" },
);
const seconds = z.number({ error: "must be a number of seconds > 0" }).positive({
  error: "must be a number of seconds > 0",
});
const paths = z.array(path, { error: "must be a list of relative paths" }).nullish().transform((list) =>
  list ?? []
);
const scores = z.record(z.string(), z.number({ error: "must be a number" }), {
  error: "must be metrics and their values",
});

const evaluationSchema = z.strictObject({
  /** Python file with `evaluate(submission)`. */
  module: path.nullish(),
  /** Files beside it. */
  files: paths,
  /** Paths of the submission. */
  submission: paths,
  timeout: seconds.nullish(),
  metrics: z.record(
    z.string(),
    z.enum(["maximize", "minimize"], { error: "must be maximize or minimize" }),
    { error: "must be metrics, each with maximize or minimize" },
  ).nullish().transform((metrics) => metrics ?? {}),
  metric: text.nullish(),
}, { error: "must be keys and values" });

/** Schema of a task YAML: MLGym's keys, followed by Paddock's own. */
export const taskSchema = z.strictObject({
  id: text,
  name: text,
  description: text,
  dataset_configs: paths,
  task_entrypoint: text.nullish(),
  training_timeout: seconds.nullish(),
  requirements_path: path.nullish(),
  benchmark_name: text.nullish(),
  use_generic_conda: flag.nullish(),
  starter_code: paths,
  baseline_paths: paths,
  baseline_scores: z.array(scores, { error: "must be a list of metrics and their values" }).nullish()
    .transform((
      list,
    ) => list ?? []),
  sample_submission: path.nullish(),
  evaluation_paths: paths,
  evaluation_read_only: flag.nullish(),
  secret_files: paths,
  memory_path: path.nullish(),
  evaluation: evaluationSchema.nullish(),
  read_only: paths,
  command_files: paths,
});

/** Validated task YAML. */
export type TaskYaml = z.output<typeof taskSchema>;

const splitSchema = z.strictObject({ name: text, file_regex: text }, {
  error: "must be a name and a file_regex",
});

/** Schema of MLGym's dataset YAML. */
export const datasetSchema = z.strictObject({
  name: text,
  description: text,
  data_path: text,
  is_local: flag.nullish(),
  train_split: splitSchema.nullish(),
  valid_split: splitSchema.nullish(),
  test_split: splitSchema.nullish(),
});

/** Validated dataset YAML. */
export type DatasetYaml = z.output<typeof datasetSchema>;
