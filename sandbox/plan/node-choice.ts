// What kind of nodes a sandbox gets, and how many in each target, as `--nodes` says it. Pure.
import { maxRealNodes } from './real-node-plan.ts';

/** Simulated nodes take next to nothing; a real one is a kubelet with containers. */
export interface NodeChoice {
  readonly kind: 'simulated' | 'real';
  readonly count: number;
}

/** Most simulated nodes of a target. */
const maxSimulatedNodes = 5_000;

/** What `--nodes` may be, for messages. */
export const nodeChoices =
  `a whole number from 0 to ${maxSimulatedNodes}, real, or real:2 for so many up to ${maxRealNodes}`;

/** Reads `3`, `real` or `real:2`; undefined for anything else. */
export function parseNodeChoice(text: string): NodeChoice | undefined {
  const [, real, digits] = /^(real)?(?::?(\d{1,4}))?$/.exec(text) ?? [];
  const kind = real === undefined ? 'simulated' : 'real';
  if (text === '' || text.startsWith(':') || /^real\d/.test(text)) return undefined;
  const count = digits === undefined ? 1 : Number(digits);
  const isInRange = kind === 'real' ? count >= 1 && count <= maxRealNodes : digits !== undefined;
  return isInRange && count <= maxSimulatedNodes ? { kind, count } : undefined;
}

/** The choice as an argument of `--nodes`. */
export function nodeChoiceText({ kind, count }: NodeChoice): string {
  return kind === 'real' ? `real:${count}` : String(count);
}
