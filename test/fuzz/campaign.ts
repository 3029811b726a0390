// The loop of the fuzzer: an input from the corpus, changed; run; kept when it made code run that no input before it
// did. The counters are read once for a batch; when they show something new, the batch is run again input by input to
// find whose it was.
import { seededRandom } from '../support/objects/seeded-random.ts';
import { BlockCoverage } from './block-coverage.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { mutate } from './mutate.ts';

/** Inputs between two looks at the counters. */
const BATCH = 256;
/** Inputs of a batch that are looked at together when it shows something new. */
const PART = 16;
/** Longest time of one input in ms, the shortest of three tries: a machine that is busy elsewhere is no bug. */
const SLOW_MS = 250;
/** Most distinct bugs that are gathered before a campaign gives up. */
const MOST_FINDINGS = 20;

/** An input that broke something. */
export interface Finding {
  readonly what: string;
  /** Base64. */
  readonly input: string;
}

/** What a campaign came to. */
export interface Outcome {
  readonly runs: number;
  readonly findings: readonly Finding[];
  /** Inputs that each made some code run that those before it had not. */
  readonly corpus: readonly Buffer[];
  readonly seconds: number;
  /** Of the slowest input, in ms. */
  readonly slowestMs: number;
}

/** How a campaign is run. */
export interface CampaignOptions {
  readonly runs: number;
  readonly seed: number;
  readonly corpus: readonly Uint8Array[];
  /** Told now and then; `runs` so far. */
  readonly onProgress?: (runs: number) => void;
}

/** Looks for inputs that break a target, led by coverage. */
export async function runCampaign(
  target: FuzzTarget, { runs, seed, corpus: given, onProgress }: CampaignOptions,
): Promise<Outcome> {
  const coverage = new BlockCoverage();
  const watch = new RunWatch(target);
  const random = seededRandom(seed);
  const began = performance.now();
  coverage.start();
  const corpus: Buffer[] = [];
  for (const input of [...target.seeds, ...given].map((one) => Buffer.from(one))) await keepIfNew(input);
  for (let done = 0; done < runs && watch.findings.length < MOST_FINDINGS; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, runs - done) }, () => nextInput(target, corpus, random));
    for (const input of batch) await watch.run(input);
    onProgress?.(done);
    if (coverage.hasNew()) await findWhose(batch);
  }
  coverage.stop();
  return {
    runs: watch.runs, findings: watch.findings, corpus, seconds: (performance.now() - began) / 1_000,
    slowestMs: watch.slowestMs,
  };

  async function keepIfNew(input: Buffer): Promise<void> {
    await watch.run(input);
    if (coverage.takeNew() > 0) corpus.push(input);
  }

  /**
   * By parts first: most inputs of a batch have nothing new. What nobody shows again, V8 having dropped its counters
   * meanwhile, counts as known.
   */
  async function findWhose(batch: readonly Buffer[]): Promise<void> {
    const news = coverage.pending;
    for (let at = 0; at < batch.length; at += PART) {
      const part = batch.slice(at, at + PART);
      for (const input of part) await watch.run(input);
      if (coverage.hasNew()) for (const input of part) await keepIfNew(input);
    }
    coverage.learn(news);
  }
}

/**
 * Of these inputs those that are needed to make the same code run, the smallest first, and how many characters of our
 * compiled code that is. Counters of functions that V8 has optimised may be lost: best done by a process that has not
 * run the target before.
 */
export async function smallestCorpus(
  target: FuzzTarget, corpus: readonly Buffer[],
): Promise<{ readonly corpus: readonly Buffer[]; readonly covered: number }> {
  const [coverage, watch] = [new BlockCoverage(), new RunWatch(target)];
  const needed: Buffer[] = [];
  coverage.start();
  for (const input of corpus.toSorted((one, other) => one.length - other.length)) {
    await watch.run(input);
    if (coverage.takeNew() > 0) needed.push(input);
  }
  coverage.stop();
  return { corpus: needed, covered: coverage.total };
}

/** Runs a corpus as it is, then mutations of it that the seed determines. Gives what broke. */
export async function replay(
  target: FuzzTarget, { runs, seed, corpus: given }: CampaignOptions,
): Promise<readonly Finding[]> {
  const watch = new RunWatch(target);
  const random = seededRandom(seed);
  const corpus = [...target.seeds, ...given].map((one) => Buffer.from(one));
  for (const input of corpus) await watch.run(input);
  for (let run = 0; run < runs; run += 1) await watch.run(nextInput(target, corpus, random));
  return watch.findings;
}

function nextInput({ shape, tokens, maxBytes }: FuzzTarget, corpus: readonly Buffer[], random: () => number): Buffer {
  const any = (): Buffer => corpus[Math.floor(random() * corpus.length)] ?? Buffer.alloc(0);
  return mutate(any(), any(), { shape, tokens, maxBytes, random });
}

const UNPOLLUTED = prototypeKeys();

/** Names of what all objects inherit. */
function prototypeKeys(): string {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).join())
    .join('|');
}

/** Runs inputs and judges what came of it: nothing thrown, in time, and nothing left on what all objects inherit. */
class RunWatch {
  readonly findings: Finding[] = [];
  runs = 0;
  slowestMs = 0;
  readonly #target: FuzzTarget;
  readonly #known = new Set<string>();

  constructor(target: FuzzTarget) {
    this.#target = target;
  }

  async run(input: Buffer): Promise<void> {
    this.runs += 1;
    const began = performance.now();
    const thrown = await this.#judge(input);
    if (thrown !== undefined) this.#add(thrown, input);
    const ms = performance.now() - began;
    if (ms > this.slowestMs) await this.#noteTime(input, ms);
    if (this.runs % BATCH === 0 && prototypeKeys() !== UNPOLLUTED) {
      throw new Error(`something is left on a prototype after run ${this.runs} of ${this.#target.name}`);
    }
  }

  /** What the input makes the target throw, in words. */
  async #judge(input: Buffer): Promise<string | undefined> {
    try {
      const running = this.#target.run(input);
      if (running !== undefined) await running;
      return undefined;
    } catch (error) {
      return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 4).join(' ') : String(error);
    }
  }

  /** Again by the processor's time, which does not grow where others hold the processor. */
  async #noteTime(input: Buffer, first: number): Promise<void> {
    let ms = first;
    for (let again = 0; again < 2 && ms > this.slowestMs; again += 1) {
      const before = process.cpuUsage();
      await this.#judge(input);
      const { user, system } = process.cpuUsage(before);
      ms = Math.min(ms, (user + system) / 1_000);
    }
    this.slowestMs = Math.max(this.slowestMs, ms);
    if (ms > SLOW_MS) this.#add(`takes ${Math.round(ms)} ms`, input);
  }

  #add(what: string, input: Buffer): void {
    const key = what.replace(/\d+/g, '#').slice(0, 160);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.findings.push({ what, input: input.toString('base64') });
  }
}
