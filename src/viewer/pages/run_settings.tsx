import type { FC } from "hono/jsx";
import {
  dataDifferences,
  type PlayedRun,
  type RunRecord,
  settingDifferences,
  settingText,
} from "../../rollout/run_record.ts";
import { formatBytes } from "./format.ts";
import { SafeText } from "./safe_text.tsx";

/** Characters of a setting that a page shows. */
const SHOWN = 2_000;

/** Record of a run: settings, data and command lines. */
export const RunSettings: FC<{ record: RunRecord | undefined }> = ({ record }) => {
  const last = record?.runs.at(-1);
  if (record === undefined || last === undefined) return null;
  return (
    <details id="settings">
      <summary>What this run was</summary>
      <SettingTable
        columns={["Setting", "Value"]}
        rows={Object.entries(last.settings).map(([name, value]) => [name, settingText(value)])}
      />
      {last.data.length > 0 && (
        <SettingTable
          columns={["Data", "Size", "SHA-256"]}
          rows={last.data.map(({ path, bytes, sha256 }) => [path, formatBytes(bytes), sha256])}
        />
      )}
      <SettingTable
        columns={["Started", "Paddock", "Command"]}
        rows={record.runs.map(({ startedAt, paddock, command }) => [startedAt, paddock, command])}
      />
    </details>
  );
};

/** The settings that differ between two runs. */
export const SettingDifferences: FC<{ first: PlayedRun | undefined; second: PlayedRun | undefined }> = (
  { first, second },
) => {
  if (first === undefined || second === undefined) {
    return <p id="settings">The settings of {first === second ? "both runs" : "one run"} are not known.</p>;
  }
  const differences = settingDifferences(first.settings, second.settings);
  const data = dataDifferences(first, second).map((one) => [one.name, one.first, one.second]);
  if (differences.length + data.length === 0) {
    return <p id="settings">Both runs have the same settings and data.</p>;
  }
  return (
    <>
      <h2 id="settings">Settings that differ</h2>
      <SettingTable
        columns={["Setting", "First", "Second"]}
        rows={[
          ...differences.map((one) => [one.name, settingText(one.first), settingText(one.second)]),
          ...data,
        ]}
      />
    </>
  );
};

const SettingTable: FC<{ columns: readonly string[]; rows: readonly (readonly string[])[] }> = (
  { columns, rows },
) => (
  <div class="scroll" tabindex={0} role="region" aria-label={columns.join(", ")}>
    <table>
      <thead>
        <tr>{columns.map((name) => <th scope="col">{name}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(([name = "", ...values]) => (
          <tr>
            <th scope="row">
              <SafeText text={name} limit={SHOWN} />
            </th>
            {values.map((value) => (
              <td>
                <SafeText text={value} limit={SHOWN} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
