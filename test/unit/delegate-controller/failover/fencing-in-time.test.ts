// Source and target with their real plans in virtual time: two clocks, a network that is late, loses and repeats
// nothing but delivers old things, watches that lag, a controller that restarts, and at some moment a partition without
// end. No pod may leave before its target has marked the lease as ended.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SourceLease } from '../../../../api/kinds/source-lease.ts';
import { hasExpired, LeaseClock, planLeaseStatus } from '../../../../delegate-controller/failover/lease-clock.ts';
import { SourceLeaseRenewal } from '../../../../delegate-controller/failover/source-lease-renewal.ts';
import { seededRandom } from '../../../support/objects/seeded-random.ts';

const DURATION = 60;
const STEP_MS = 500;
const END_MS = 700_000;
const SEEDS = 400;

/** What may go wrong in a run. */
interface Faults {
  /** When nothing comes through any more, in ms; never when missing. */
  readonly partitionAt?: number;
  /** Most that a request, or an answer, takes, in ms. */
  readonly latencyMs: number;
  readonly lossRate: number;
  /** How far the target's watch may be behind, in ms. */
  readonly watchLagMs: number;
  /** When the target's controller stops, and how long it is away, in ms. */
  readonly restart?: { readonly at: number; readonly forMs: number };
  /** Requests that were on their way into the partition arrive after so long, at most. */
  readonly staleMs: number;
  /** How much faster the target's clock runs. */
  readonly drift: number;
}

class Simulation {
  readonly #faults: Faults;
  readonly #random: () => number;
  readonly #due: { readonly at: number; readonly act: () => void }[] = [];
  readonly #holder = new SourceLeaseRenewal({ holder: 'run', durationSeconds: DURATION });
  #lease: SourceLease | undefined;
  #version = 0;
  #clock: LeaseClock | undefined = new LeaseClock();
  #seen: SourceLease | undefined;
  #isAsking = false;
  #now = 0;
  expiredAt: number | undefined;
  leftAt: number | undefined;

  constructor(seed: number, faults: (random: () => number) => Faults) {
    this.#random = seededRandom(seed);
    this.#faults = faults(this.#random);
  }

  run(): this {
    for (this.#now = 0; this.#now < END_MS && this.leftAt === undefined; this.#now += STEP_MS) {
      for (
        const { act } of this.#due.splice(0).filter((event) => event.at <= this.#now || (this.#due.push(event), false))
      ) act();
      this.#sourceActs();
      this.#targetActs();
    }
    return this;
  }

  #later(ms: number, act: () => void): void {
    this.#due.push({ at: this.#now + ms, act });
  }

  get #isCut(): boolean {
    return this.#now >= (this.#faults.partitionAt ?? Infinity);
  }

  #sourceActs(): void {
    const sourceTime = this.#now + 1_000_000;
    if ((this.#holder.stoppedAt(0) ?? Infinity) <= sourceTime) this.leftAt = this.#now;
    const step = this.#holder.next(sourceTime);
    if (this.#isAsking || step.kind === 'wait') return;
    this.#isAsking = true;
    const renewTime = new Date(sourceTime).toISOString();
    if (step.kind === 'renew') this.#holder.sending(renewTime, sourceTime);
    else this.#holder.reading(sourceTime);
    let isOpen = true;
    const close = (act: () => void) => () => {
      if (isOpen) act();
      isOpen = false;
      this.#isAsking = false;
    };
    this.#later((DURATION * 1_000) / 6, close(() => this.#holder.unanswered()));
    this.#send(() => {
      if (step.kind === 'renew') {
        this.#store({ metadata: { uid: 'u' }, spec: { holder: 'run', durationSeconds: DURATION, renewTime } });
      }
      const answer = this.#lease;
      if (!this.#isCut && this.#random() >= this.#faults.lossRate) {
        this.#later(this.#random() * this.#faults.latencyMs, close(
          () => !this.#isCut && this.#holder.answered(answer, this.#now + 1_000_000),
        ));
      }
    });
  }

  /** Over the network to the target's API server: in time, late, or not at all. */
  #send(arrive: () => void): void {
    const { latencyMs, staleMs, lossRate } = this.#faults;
    if (this.#random() < lossRate) return;
    if (this.#isCut) return this.#random() < 0.5 ? this.#later(this.#random() * staleMs, arrive) : undefined;
    this.#later(this.#random() * latencyMs, arrive);
  }

  #store(change: Partial<SourceLease>): void {
    this.#version += 1;
    const merged = {
      ...this.#lease, ...change,
      metadata: { uid: 'u', namespace: 'ns', name: 'l', resourceVersion: String(this.#version) },
    } as SourceLease;
    this.#lease = merged;
    this.#later(this.#random() * this.#faults.watchLagMs, () => this.#tell(merged));
  }

  #targetTime(): { readonly monotonic: number; readonly wall: number } {
    const monotonic = this.#now * (1 + this.#faults.drift);
    return { monotonic, wall: monotonic + 5_000_000 };
  }

  /** A watch tells versions in their order. */
  #tell(version: SourceLease): void {
    const isOld = Number(version.metadata.resourceVersion) <= Number(this.#seen?.metadata.resourceVersion ?? 0);
    if (this.#clock === undefined || isOld) return;
    this.#seen = version;
    this.#clock.observe(version, this.#targetTime());
  }

  #targetActs(): void {
    if (!this.#isUp()) return;
    if (this.#seen === undefined || this.#clock === undefined) return;
    const { monotonic, wall } = this.#targetTime();
    const [command] = planLeaseStatus(this.#seen, this.#clock.endsAt <= monotonic, wall);
    if (command?.kind === 'patch') this.#patch(command.patch as StatusPatch);
  }

  /** A controller that starts lists first. */
  #isUp(): boolean {
    const { at = Infinity, forMs = 0 } = this.#faults.restart ?? {};
    const isDown = this.#now >= at && this.#now < at + forMs;
    if (isDown) [this.#clock, this.#seen] = [undefined, undefined];
    else if (this.#clock === undefined) {
      this.#clock = new LeaseClock();
      if (this.#lease !== undefined) this.#tell(this.#lease);
    }
    return !isDown;
  }

  #patch({ metadata: { resourceVersion }, status }: StatusPatch): void {
    if (resourceVersion !== undefined && resourceVersion !== this.#lease?.metadata.resourceVersion) return; // conflict
    this.#store({ status: { ...this.#lease?.status, ...status } });
    if (this.#lease !== undefined && hasExpired(this.#lease)) this.expiredAt ??= this.#now;
  }
}

interface StatusPatch {
  readonly metadata: { readonly resourceVersion?: string };
  readonly status: object;
}

const calm = { latencyMs: 2_000, lossRate: 0, watchLagMs: 1_000, staleMs: 0, drift: 0 };

describe('with a partition, in virtual time', () => {
  it(`no pod leaves before its target has marked the lease as ended, by ${SEEDS} seeds; and all leave`, () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { expiredAt, leftAt } = new Simulation(seed, (random) => ({
        partitionAt: 100_000 + random() * 60_000, latencyMs: random() * 12_000,
        lossRate: random() < 0.5 ? 0 : 0.05, watchLagMs: random() * 8_000, staleMs: random() * 120_000,
        drift: (random() - 0.5) / 500,
        ...(random() < 0.3 && { restart: { at: 60_000 + random() * 90_000, forMs: random() * 5_000 } }),
      })).run();
      if (leftAt === undefined) continue; // its target was not known to see renewals when it was lost: it is waited for
      assert.ok(
        expiredAt !== undefined && expiredAt <= leftAt, `seed ${seed}: left at ${leftAt}, ended at ${expiredAt}`,
      );
    }
  });

  it('all pods leave a target that was known to see renewals', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { leftAt } =
        new Simulation(seed, (random) => ({ ...calm, partitionAt: 100_000 + random() * 60_000 })).run();
      assert.ok(leftAt !== undefined, `seed ${seed}`);
    }
  });

  it('without one no lease ends, though answers are late, some are lost, and the controller restarts', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { expiredAt, leftAt } = new Simulation(
        seed, (random) => ({ ...calm, lossRate: 0.02, restart: { at: 100_000 + random() * 60_000, forMs: 20_000 } }),
      ).run();
      assert.deepEqual([expiredAt, leftAt], [undefined, undefined], `seed ${seed}`);
    }
  });
});
