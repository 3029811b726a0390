// Flags of long-running commands, and their parsers, which run before anything starts. Each throws AppError `BadInput`
// that names its flag.
import { Option } from 'commander';
import { AppError } from '../../process/errors.ts';
import { requireLabel } from '../output/object-names.ts';
import { parseWeights, type ScoreWeights } from '../../model/proxy/score-weights.ts';

/** Weights of scores, `cost=2,leastAllocated=0` say. */
export function parseScoreWeights(text: string): Partial<ScoreWeights> {
  const parsed = parseWeights(text);
  if (parsed.kind === 'invalid') throw new AppError('BadInput', `--score-weights: ${parsed.message}.`);
  return parsed.weights;
}

/** URLs of CONNECT endpoints, comma separated. */
export function parseGateways(text: string): readonly URL[] {
  return text.split(',').map((one) => {
    const url = URL.canParse(one.trim()) ? new URL(one.trim()) : undefined;
    if (url?.protocol === 'http:' && url.pathname === '/' && url.username === '') return url;
    throw new AppError('BadInput', `--gateway takes http://HOST:PORT, comma separated, not "${one}".`);
  });
}

/** `--gateway` of a command that opens kubeconfigs of targets. */
export function gatewayOption(): Option {
  return new Option(
    '--gateway <urls>',
    'CONNECT endpoints of the gateways of this cluster, http://HOST:PORT, comma separated; for targets with ' +
      'spec.gateway',
  ).argParser(parseGateways);
}

/** Names of namespaces, comma separated, each once. Throws AppError `BadInput` for a text that can name none. */
export function parseNamespaces(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) requireLabel('Each namespace of --cluster-profiles', name);
  return [...new Set(names)];
}

/** A number of seconds for `--webhook-drain-seconds`. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new AppError('BadInput', `--webhook-drain-seconds takes a number of seconds, not "${text}".`);
}

/** Accumulates the values of a repeatable option. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** Parses a whole number in a range for the option of that name. Throws AppError `BadInput` that names both. */
export function wholeNumber(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new AppError('BadInput', `${option} takes a whole number from ${least} to ${most}, not "${text}".`);
  };
}

/** Reads a port, 0 for any where `least` says no other, for the flag of that name. */
export function parsePort(option: string, least = 0): (text: string) => number {
  return wholeNumber(option, least, 65_535);
}

/** `--health-port` of a command that serves probes and metrics. */
export function healthPortOption(): Option {
  return new Option('--health-port <number>', 'port of /healthz, /readyz and /metrics; default: they are not served')
    .argParser(parsePort('--health-port'));
}

/** `--log-level` of a command that runs until it is stopped. */
export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'lowest severity that is logged')
    .choices(['debug', 'info', 'warn', 'error']).default('info');
}
