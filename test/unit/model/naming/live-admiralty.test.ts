import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../../api/objects/core.ts';
import type { MutatingWebhookConfiguration } from '../../../../api/resource-types.ts';
import {
  otherAdmiraltyWebhook, isLive, NEVER_SELECTED, evidenceOfAdmiralty, signsText,
} from '../../../../model/naming/live-admiralty.ts';
import { webhookConfiguration } from '../../../../manifests/objects/webhook-configuration.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const lease = (name: string, agoSeconds: number, holderIdentity = 'pod-1'): Lease => ({
  metadata: { namespace: 'mc', name },
  spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: new Date(NOW - agoSeconds * 1_000).toISOString() },
});
const theirs = (more: object = {}, name = 'mc-admiralty'): MutatingWebhookConfiguration => ({
  metadata: { name }, webhooks: [
    {
      name: `${name}.multicluster.admiralty.io`,
      clientConfig: { service: { namespace: 'mc', name, path: '/mutate--v1-pod' } },
      namespaceSelector: { matchLabels: { 'multicluster-scheduler': 'enabled' } }, ...more,
    } as never,
  ],
});
const ours = webhookConfiguration({ installNamespace: 'isthmus-system' });
const silent =
  { namespaceSelector: { matchLabels: { 'multicluster-scheduler': 'enabled' }, matchExpressions: [NEVER_SELECTED] } };

describe('an Admiralty', () => {
  const rows: Record<
    string, readonly [configurations: readonly MutatingWebhookConfiguration[], leases: readonly Lease[], signs: string]
  > = {
    'is seen by its webhook, whatever its release is called':
      [[ours, theirs()], [], 'MutatingWebhookConfiguration mc-admiralty'],
    'is seen by a Lease that somebody renews':
      [[], [lease('admiralty-controller-manager', 3)], 'Lease mc/admiralty-controller-manager'],
    'is not seen by a Lease that has run out': [[], [lease('admiralty-controller-manager', 16)], ''],
    'is not seen by a Lease that was given back': [[], [lease('admiralty-controller-manager', 1, '')], ''],
    'is not seen by a webhook that is asked about nothing': [[theirs(silent)], [], ''],
    'is not seen by our own webhook': [[ours], [], ''],
    "is not seen by others' webhooks":
      [[{ metadata: { name: 'kueue' }, webhooks: [{ name: 'mpod.kb.io', clientConfig: {} }] }], [], ''],
  };
  for (const [sentence, [configurations, leases, expected]] of Object.entries(rows)) {
    it(sentence, () => {
      const signs = evidenceOfAdmiralty({ configurations, leases }, NOW);
      assert.deepEqual([signsText(signs), isLive(signs)], [expected, expected !== '']);
    });
  }
});

describe('whether another webhook is asked about elected pods', () => {
  const address = ours.webhooks?.[0]?.clientConfig;
  const rows: Record<string, readonly [configurations: readonly MutatingWebhookConfiguration[], is: boolean]> = {
    'yes, while it is at an address of its own': [[ours, theirs()], true],
    'no, once its configuration leads to ours':
      [[ours, theirs({ clientConfig: { ...address, caBundle: 'eA==' } })], false],
    'no, while it is asked about nothing': [[ours, theirs(silent)], false],
    'no, where there is none': [[ours], false],
  };
  for (const [sentence, [configurations, is]] of Object.entries(rows)) {
    it(sentence, () => assert.equal(otherAdmiraltyWebhook(configurations) !== undefined, is));
  }
});
