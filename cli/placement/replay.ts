// `isthmus replay FILE`: repeats the decisions of a log and reports those that differ. Exits with 1 when there are any.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Command, Option } from 'commander';
import { AppError, reasonOf } from '../../process/errors.ts';
import { exitWith } from '../../process/lifecycle.ts';
import { Replayer, type RecordedOutcome, type Replay } from '../../scheduler/explain/decision-log.ts';

/** The command for commander. */
export function replayCommand(): Command {
  return new Command('replay')
    .description(
      'Replay the decisions of a decision log (isthmus run --decision-log FILE) and report those that differ.',
    )
    .argument('<file>', 'the log; FILE.1 is the previous part')
    .addOption(new Option('-o, --output <format>', 'json: for programs').choices(['json']))
    .action(async (file: string, { output }: { readonly output?: 'json' }) => {
      const result = await replayFile(file);
      console.log(output === 'json' ? JSON.stringify(result, undefined, 2) : replayText(result));
      if (result.differences.length > 0) exitWith(1);
    });
}

/** Replays a file line by line. Throws AppError `BadInput` when it cannot be read, or is not a decision log. */
export async function replayFile(file: string): Promise<Replay> {
  const replayer = new Replayer();
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      replayer.read(line);
    }
  } catch (error) {
    throw new AppError('BadInput', `${file} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
  if (replayer.result.decisions > 0) return replayer.result;
  throw new AppError('BadInput', `${file} holds no decision: write a log with "isthmus run --decision-log FILE".`);
}

/** The result as text. */
export function replayText({ decisions, differences, unreadable }: Replay): string {
  return [
    `${decisions} decisions, ${differences.length} come out otherwise.`,
    ...differences.map(
      ({ time, name, before, now }) => `${time} ${name}: ${outcomeText(before)} before, ${outcomeText(now)} now`,
    ),
    ...(
      unreadable.length > 0 ? [
        `Not readable: ${unreadable.length === 1 ? 'line' : 'lines'} ` +
          `${unreadable.slice(0, 10).join(', ')}${unreadable.length > 10 ? ', …' : ''}.`,
      ] : []
    ),
  ].join('\n');
}

function outcomeText({ chosen, score, rejected }: RecordedOutcome): string {
  if (chosen !== undefined) return `${chosen} (${(score ?? 0).toFixed(3)})`;
  return `none (${rejected.map(([target, reason]) => `${target}: ${reason}`).join(', ')})`;
}
