// Pods that are created one after the other in each of some namespaces, and deleted once they have run; how long each
// waited, what was refused, and what vanished before it ran.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import type { OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { isNotFound } from '../../../kubernetes/flow/api-error.ts';
import { messageOf } from '../../../process/errors.ts';

const EVERY_MS = 2_000;
const RUNS_MS = 3_000;
const GIVEN_UP_MS = 180_000;
const POLL_INTERVAL_MS = 250;

/** One pod of the stream, and how long it took until it ran, in s. */
export interface Wait {
  readonly pod: string;
  readonly createdAt: Date;
  readonly seconds: number;
}

/** Creates until {@link CreateStream.stop}. */
export class CreateStream {
  readonly waits: Wait[] = [];
  readonly refused: string[] = [];
  /** Pods, as `namespace/name`, that somebody deleted before they ran. */
  readonly vanished: string[] = [];
  #isOver = false;
  readonly #loop: Promise<void>;

  constructor(source: Pick<OpenCluster, 'client'>, namespaces: readonly string[]) {
    this.#loop = this.#create(source, namespaces);
  }

  /** Creates no more, and waits until all have run and were deleted. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#loop;
  }

  async #create({ client }: Pick<OpenCluster, 'client'>, namespaces: readonly string[]): Promise<void> {
    const each: Promise<void>[] = [];
    for (let index = 0; !this.#isOver; index += 1) {
      each.push(this.#one(client, namespaces[index % namespaces.length] ?? '', `s-${index}`));
      await sleep(EVERY_MS);
    }
    await Promise.all(each);
  }

  async #one(client: OpenCluster['client'], namespace: string, name: string): Promise<void> {
    const at = { namespace, name };
    const createdAt = new Date();
    const start = performance.now();
    const pod = {
      metadata: { ...at, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
    };
    try {
      await client.create(PODS, pod);
    } catch (error) {
      this.refused.push(`${namespace}/${name} at ${createdAt.toISOString()}: ${messageOf(error)}`);
      return;
    }
    while (performance.now() - start < GIVEN_UP_MS) {
      const phase = await phaseOf(client, at);
      if (phase === 'Running') break;
      if (phase === 'gone') return void this.vanished.push(`${namespace}/${name}`);
      await sleep(POLL_INTERVAL_MS);
    }
    this.waits.push({ pod: `${namespace}/${name}`, createdAt, seconds: (performance.now() - start) / 1_000 });
    await sleep(RUNS_MS);
    await client.delete(PODS, at).catch(() => undefined);
  }
}

/** `gone` where there is no such pod; undefined where that could not be read. */
async function phaseOf(
  client: OpenCluster['client'], at: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  try {
    return (await client.get<Pod>(PODS, at)).status?.phase;
  } catch (error) {
    return isNotFound(error) ? 'gone' : undefined;
  }
}
