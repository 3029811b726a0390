// What P1 says of bursts: rates against plain pods and the bare chain, processor time for a pod, and how fast pods go.
// Pure.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { Measurement } from '../benchmark.ts';
import { atUsualSpeed } from '../readings/processor-speed.ts';
import { percentile, spreadOf, type Spread } from '../results/statistics.ts';

/** Client limits of kube-schedulers and kube-controller-managers. */
export interface Limits {
  readonly name: 'raised' | 'stock';
  readonly words: string;
  readonly clientQps?: number;
  /** The least rate against plain pods, by the way in which pods are delegated. */
  readonly atLeast: Readonly<Record<DelegationMode, number>>;
}

/** Bursts that are compared. */
export interface BurstsOf {
  readonly limits: Limits;
  readonly mode: DelegationMode;
  readonly size: number;
  /** Whether our processes have just started. */
  readonly isFirst?: boolean;
}

/** One burst. */
export interface Measured {
  readonly podsPerSecond: number;
  /** Of their deletion, until the last was gone. */
  readonly clearedPerSecond: number;
  /** From each pod's POST to its Running, in ms. */
  readonly podMs?: readonly number[];
  /** Processor time that each process used for one pod until the last was Running, in ms. */
  readonly cpu: Readonly<Record<string, number>>;
}

/** Bursts of one size, measured in turns. */
export type Bursts = Readonly<Record<'elected' | 'plain' | 'bare', readonly Measured[]>>;

/** Minimum share of the bare chain's rate; our requests may cost API servers at most 1 / this of what its own do. */
const OF_CHAIN = 0.85;
const OUR_SOURCE = 'isthmus/source';
const OURS = 'isthmus/';

/** The rows of one size. `parseUs` tells the speed of the processor (docs/adr/0042-cpu-goals.md). */
export function burstRows(
  { limits, mode, size, isFirst = false }: BurstsOf, { elected, plain, bare }: Bursts, parseUs: number,
): readonly Measurement[] {
  const variant = `${mode}-${limits.name}-${size}${isFirst ? '-first' : ''}`;
  const what = `${isFirst ? 'first ' : ''}burst of ${size}, 2 targets, ${mode} mode, ${limits.words}`;
  const rates = (all: readonly Measured[]): Spread => spreadOf(all.map(({ podsPerSecond }) => podsPerSecond));
  const cleared = (all: readonly Measured[]): Spread => spreadOf(all.map(({ clearedPerSecond }) => clearedPerSecond));
  const usual = (cpuMs: (burst: Measured) => number): Spread =>
    spreadOf(elected.map((burst) => atUsualSpeed(cpuMs(burst), parseUs)));
  return [
    {
      variant, title: `pods to Running, ${what}`, unit: 'pods/s', ours: rates(elected), reference: rates(plain),
      goal: { figure: 'ratio', atLeast: limits.atLeast[mode] },
      details: {
        ratioOfPairs: spreadOf(
          elected.map(({ podsPerSecond }, index) => podsPerSecond / (plain[index]?.podsPerSecond ?? Number.NaN)),
        ),
        podMs: { elected: podMs(elected), plain: podMs(plain) },
        cpuMsPerElectedPod: elected.map(({ cpu }) => cpu), parseUs,
      },
    },
    {
      variant: `${variant}-chain`, title: `the same against the bare chain of its requests, ${what}`, unit: 'pods/s',
      ours: rates(elected), reference: rates(bare), goal: { figure: 'ratio', atLeast: OF_CHAIN },
    },
    {
      variant: `${variant}-api-servers`, title: `processor time of all API servers for a pod, ${what}`, unit: 'ms',
      ours: spreadOf(elected.map(apiServerMs)), reference: spreadOf(plain.map(apiServerMs)),
      goal: { figure: 'ratio', atMost: 2.4 },
    },
    {
      variant: `${variant}-api-servers-chain`, title: `the same against the bare chain of its requests, ${what}`,
      unit: 'ms', ours: spreadOf(elected.map(apiServerMs)), reference: spreadOf(bare.map(apiServerMs)),
      goal: { figure: 'ratio', atMost: Math.round(100 / OF_CHAIN) / 100 },
    },
    {
      variant: `${variant}-source`, title: `processor time of our source process for a pod, at usual speed, ${what}`,
      unit: 'ms', ours: usual(({ cpu }) => cpu[OUR_SOURCE] ?? Number.NaN), goal: { figure: 'ours', atMost: 2.5 },
    },
    {
      variant: `${variant}-target`, title: `the same of the processes of its targets, ${what}`, unit: 'ms',
      ours: usual(targetMs), goal: { figure: 'ours', atMost: 1.2 },
    },
    {
      variant: `${variant}-clean-up`, title: `deleted pods until gone, ${what}`, unit: 'pods/s',
      ours: cleared(elected), reference: cleared(plain), goal: { figure: 'ratio', atLeast: 0.33 },
    },
  ];
}

/** Processor time of all API servers for one pod, in ms. */
function apiServerMs({ cpu }: Measured): number {
  const servers = Object.entries(cpu).filter(([name]) => name.endsWith('/kube-apiserver'));
  return servers.reduce((sum, [, ms]) => sum + ms, 0);
}

/** Each pod runs in one target, so what all targets used is that of one for its pods; NaN where none was seen. */
function targetMs({ cpu }: Measured): number {
  const ours = Object.entries(cpu).filter(([name]) => name.startsWith(OURS) && name !== OUR_SOURCE);
  return ours.length === 0 ? Number.NaN : ours.reduce((sum, [, ms]) => sum + ms, 0);
}

/** From each pod's POST to its Running, over all bursts, in ms. */
function podMs(bursts: readonly Measured[]): { readonly p50: number; readonly p99: number } {
  const all = bursts.flatMap(({ podMs: times = [] }) => times);
  return { p50: Math.round(percentile(all, 0.5)), p99: Math.round(percentile(all, 0.99)) };
}
