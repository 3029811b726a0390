// `npm run soak -- large-sync`: fault 16 of the table (docs/results/faults.md). A source that follows 100,000 elected
// pods is killed again and again while it reads them, by SIGKILL and by its own heap: nothing is deleted on either side
// before everything is known, and what ran before runs on. LARGE_SYNC_PODS makes a smaller one of it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { startComponent } from '../../../sandbox/processes/component-process.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FaultWorld, tell, within, type Pair } from '../../support/faults/fault-world.ts';
import { copyPod } from '../../support/worlds/stored-copies.ts';

const COPIES = Number(process.env['LARGE_SYNC_PODS'] ?? 100_000);
const NAMESPACE = 'large-sync';
/** Of the pods that are only there to be read; the test does not watch it. */
const BULK = 'large-sync-bulk';
/** When the process is killed, in ms after its start. */
const MOMENTS_MS = [300, 600, 900, 1_200, 1_600, 2_000, 3_000, 4_000, 6_000];
/** Too little for so many pods, and enough for the process itself, in MiB. */
const SMALL_HEAP_MIB = 40;

let faults: FaultWorld;
before(async () => {
  faults = await FaultWorld.start(NAMESPACE, { nodes: 1, watchedNamespace: NAMESPACE });
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await faults.world.source.client.apply(NAMESPACES, { metadata: { name: BULK, labels } }, 'isthmus-test');
});
after(() => faults?.stop());

describe('a source that is killed while it reads 100,000 pods', () => {
  it('16: deletes nothing, and goes on where it was', () => faults.during(async () => {
    const { source, targets } = faults.world;
    const pairs: Pair[] = [];
    for (const [index, target] of targets.entries()) {
      for (let pod = 0; pod < 5; pod += 1) pairs.push(await faults.run(`kept-${index}-${pod}`, target));
    }
    const gated = faults.aPod('copy-00000000', undefined, { schedulingGates: [{ name: 'example.com/never' }] }, BULK);
    const from = performance.now();
    await copyPod(source.cluster, await faults.create(gated), COPIES);
    tell({ row: '16: pods stored', pods: COPIES, seconds: Math.round((performance.now() - from) / 1_000) });
    await untilServed();
    tell({ row: '16: and served', seconds: Math.round((performance.now() - from) / 1_000) });

    const process = faults.processes.get(source)!;
    for (const ms of MOMENTS_MS) {
      await process.restart();
      await sleep(ms);
      await process.current.kill();
    }
    await diesOfItsHeap();
    await process.restart();
    await within('16', 60, () => Promise.all(pairs.map((pair) => faults.mirrors(pair, 1))));
    for (const pair of pairs) await faults.assertSame(pair);
    for (const { cluster } of [source, ...targets]) {
      assert.deepEqual(await deletionsIn(cluster.auditLog ?? ''), [], cluster.name);
    }
    const { items } = await source.client.listPage(PODS, { namespace: BULK }, { limit: 1 }, faults.world.signal);
    assert.equal(items[0]?.metadata.deletionTimestamp, undefined);
  }));
});

/** The API server's cache takes longer to hear of them than etcd to store them; meanwhile it answers nobody. */
async function untilServed(): Promise<void> {
  const { client } = faults.world.source;
  const nobody = { fieldSelector: 'spec.schedulerName=nobody' };
  await eventually(
    'the pods are served', () => client.listPage(PODS, nobody, { limit: 1 }, faults.world.signal), 300_000,
  );
}

/** As a process whose container has too little memory. */
async function diesOfItsHeap(): Promise<void> {
  const { spec } = faults.processes.get(faults.world.source)!.current;
  const [program, ...args] = spec.command;
  const starved = await startComponent({
    ...spec, name: 'starved', logPath: `${faults.world.source.cluster.directory}/starved.log`,
    command: [program, `--max-old-space-size=${SMALL_HEAP_MIB}`, ...args],
  });
  const died = await Promise.race([starved.exited.then(() => true), sleep(120_000).then(() => false)]);
  await starved.stop();
  tell({ row: '16: died of its heap', died });
  assert.ok(died, 'the heap was large enough');
}

/** Requests of ours that delete something, whatever came of them. */
async function deletionsIn(auditLog: string): Promise<string[]> {
  const lines = (await readFile(auditLog, 'utf8')).split('\n')
    .filter((line) => line.includes('"verb":"delete') && line.includes('"userAgent":"isthmus-') && !line.includes(
      '"userAgent":"isthmus-test',
    ));
  return lines.map((line) => (JSON.parse(line) as { readonly requestURI: string }).requestURI);
}
