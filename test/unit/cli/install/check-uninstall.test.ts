// What keeps Isthmus from being uninstalled.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { DELEGATE_FINALIZER, DRAIN_FINALIZER, HAS_FINALIZER_LABEL } from '../../../../api/objects/keys.ts';
import { reasonsToStay, type StillInUse } from '../../../../cli/install/check-uninstall.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { aProxy, named } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';

const object = (name: string, namespace?: string, ...finalizers: string[]): KubernetesObject =>
  ({ metadata: { name, ...(namespace !== undefined && { namespace }), finalizers } });
const uses = (change: Partial<StillInUse>): StillInUse => ({ proxies: [], chaperons: [], targets: [], ...change });

describe('reasonsToStay', () => {
  const rows: readonly [string, StillInUse, readonly RegExp[]][] = [
    ['nothing in use', uses({}), []],
    ['a proxy pod', uses({ proxies: [object('web-1', 'shop', DELEGATE_FINALIZER)] }), [
      /^1 elected pod would stay Terminating when deleted \(shop\/web-1\): .*isthmus drain/,
    ]],
    ['a proxy pod that was let go already', uses({ proxies: [object('web-1', 'shop')] }), []],
    ['many', uses({ proxies: [1, 2, 3, 4].map((n) => object(`p${n}`, 'a', DELEGATE_FINALIZER)) }), [
      /^4 elected pods .*\(a\/p1, a\/p2, a\/p3, …\)/,
    ]],
    ['a delegate of another cluster', uses({ chaperons: [object('c', 'shop')] }), [
      /^1 delegate of other clusters .*\(shop\/c\)/,
    ]],
    ['targets, of which one drains', uses({ targets: [object('eu'), object('us', undefined, DRAIN_FINALIZER)] }), [
      /^1 target would keep a finalizer \(us\)/,
    ]],
  ];
  for (const [what, found, expected] of rows) {
    it(what, () => {
      const reasons = reasonsToStay(found);
      assert.equal(reasons.length, expected.length);
      for (const [index, pattern] of expected.entries()) assert.match(reasons[index] ?? '', pattern);
    });
  }
});

it('elected pods are found once, with the label of the finalizer and without it', async (t) => {
  const server = await AnsweringApiServer.start({
    pods: [aProxy(), aProxy(named('labelled'))].map((pod, index) => ({
      ...pod,
      metadata: {
        ...pod.metadata, finalizers: [DELEGATE_FINALIZER], labels: index === 0 ? {} : { [HAS_FINALIZER_LABEL]: 'true' },
      },
    })),
    podchaperons: [], targets: [], clustertargets: [],
  });
  t.after(() => server.stop());
  const { code, stderr } = await isthmusHere('check-uninstall', '--kubeconfig', await server.kubeconfig());
  assert.equal(code, 1);
  assert.match(stderr, /2 elected pods would stay Terminating when deleted/);
});
