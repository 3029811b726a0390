// Part of `npm run soak -- faults`: rows 46 and 47 of the table of faults (docs/results/faults.md), a target that does
// not take a pod, or makes another one of it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CONFIG_MAPS, NAMESPACES, PODS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../api/resource-types.ts';
import { LAZY_STATUS_MS } from '../../../delegate-controller/chaperon/chaperon-plan.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FaultWorld, placeOf, tell, within } from '../../support/faults/fault-world.ts';
import { RESOURCE_QUOTAS } from '../../support/objects/resource-types.ts';
import { isRunning, type WorldCluster } from '../../support/worlds/isthmus-world.ts';

const POLICY = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
const MUTATING_POLICIES: ResourceType =
  { ...POLICY, plural: 'mutatingadmissionpolicies', kind: 'MutatingAdmissionPolicy' };
const MUTATING_POLICY_BINDINGS: ResourceType =
  { ...POLICY, plural: 'mutatingadmissionpolicybindings', kind: 'MutatingAdmissionPolicyBinding' };

const NAMESPACE = 'refusals';
/** In which a loop of writes would show. */
const LOOP_MS = 20_000;

let faults: FaultWorld;

before(async () => {
  faults = await FaultWorld.start(NAMESPACE);
});
after(() => faults?.stop());

const runs = (it: Pod | undefined) => it !== undefined && isRunning(it);
const saysWhyNot = (text: string) =>
  (it: Pod | undefined) => findCondition(it?.status?.conditions, 'PodScheduled')?.message?.includes(text) === true;

/** A namespace in the source and in some targets. */
async function namespaceIn(name: string, ...targets: readonly WorldCluster[]): Promise<void> {
  await faults.source.client.apply(
    NAMESPACES, { metadata: { name, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } }, 'isthmus-test',
  );
  await Promise.all(targets.map(({ client }) => client.apply(NAMESPACES, { metadata: { name } }, 'isthmus-test')));
}

async function remove(...pods: readonly Pod[]): Promise<void> {
  for (const pod of pods) await faults.source.client.delete(PODS, placeOf(pod));
  for (const pod of pods) await faults.proxyIs(pod, 'gone', (it) => it === undefined);
}

describe('a namespace of a target', () => {
  it('46: that is missing, or whose quota is used up: the reason is told, another target is tried', async () => {
    const namespace = 'refusals-half';
    await namespaceIn(namespace, faults.second);
    const fixed = faults.aPod('row-46', faults.first, {}, namespace);
    await faults.create(fixed);
    await within('46: missing namespace', 10, () => faults.proxyIs(fixed, 'told', saysWhyNot('NamespaceMissing')));
    const free = faults.aPod('row-46-free', undefined, {}, namespace);
    await faults.source.client.create(PODS, free);
    await within(
      '46: another target', 10, () => faults.proxyIs(free, 'Running', (it) => it !== undefined && isRunning(it)),
    );
    await faults.first.client.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
    await faults.first.client.create(
      RESOURCE_QUOTAS, { metadata: { namespace, name: 'none' }, spec: { hard: { pods: '0' } } } as KubernetesObject,
    );
    const over = faults.aPod('row-46-quota', faults.first, {}, namespace);
    await faults.source.client.create(PODS, over);
    await within('46: quota', 10, () => faults.proxyIs(over, 'told', saysWhyNot('exceeded quota')));
    await remove(fixed, free, over);
  });

  it('46: that is going: the reason is told, another target is tried, and the pod runs there when the namespace is back',
    async () => {
    const namespace = 'refusals-going';
    await namespaceIn(namespace, faults.first, faults.second);
    const held = { namespace, name: 'held' };
    await faults.first.client.create(CONFIG_MAPS, { metadata: { ...held, finalizers: ['example.com/held'] } });
    await faults.first.client.delete(NAMESPACES, { name: namespace });
    const fixed = faults.aPod('row-46-going', faults.first, {}, namespace);
    await faults.create(fixed);
    await within(
      '46: going namespace', 10, () => faults.proxyIs(fixed, 'told', saysWhyNot('because it is being terminated')),
    );
    const free = faults.aPod('row-46-elsewhere', undefined, {}, namespace);
    await faults.source.client.create(PODS, free);
    await within('46: another target', 10, () => faults.proxyIs(free, 'Running', runs));
    const patch = { metadata: { finalizers: null } };
    await faults.first.client.patch(CONFIG_MAPS, held, { patchType: 'merge', patch });
    await eventually(
      'the namespace is made again', () => faults.first.client.create(NAMESPACES, { metadata: { name: namespace } }),
    );
    await within('46: it runs when the namespace is back', 30, () => faults.proxyIs(fixed, 'Running', runs));
    await remove(fixed, free);
  });
});

describe('admission of a target', () => {
  it('47: that rejects the delegate: its words are on the proxy', async () => {
    const name = 'refusals-row-47';
    const spec = {
      failurePolicy: 'Fail', matchConstraints:
        { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
      validations:
        [{ expression: "!object.metadata.name.startsWith('row-47-rejected')", message: 'not in this house' }],
    };
    await faults.first.client.apply(
      VALIDATING_ADMISSION_POLICIES, { metadata: { name }, spec } as KubernetesObject, 'isthmus-test',
    );
    await faults.first.client.apply(
      VALIDATING_ADMISSION_POLICY_BINDINGS,
      { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } } as KubernetesObject,
      'isthmus-test',
    );
    const probe = {
      metadata: { namespace: NAMESPACE, name: 'row-47-rejected-probe' },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    await eventually('the policy', async () => {
      const isRefused = await faults.first.client.create(PODS, probe).then(() => false, () => true);
      if (!isRefused) await faults.first.client.delete(PODS, { namespace: NAMESPACE, name: 'row-47-rejected-probe' });
      return isRefused;
    });
    const pod = faults.aPod('row-47-rejected', faults.first);
    await faults.source.client.create(PODS, pod);
    await within('47', 30, () => faults.proxyIs(pod, 'told', saysWhyNot('not in this house')));
    await faults.source.client.delete(PODS, placeOf(pod));
    await faults.goneEverywhere(pod);
  });

  it('47: that makes something else of the delegate, each time that it is written, is not fought', async () => {
    const name = 'refusals-row-47-mutated';
    const spec = {
      matchConstraints: {
        resourceRules:
          [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['pods'] }],
      },
      matchConditions: [{ name: 'ours', expression: "object.metadata.name.startsWith('row-47-mutated')" }],
      mutations: [{
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression:
            'Object{metadata: Object.metadata{labels: {"house": "ours"}}, spec: Object.spec{containers: ' +
              '[Object.spec.containers{name: "main", image: "house/main:1"}]}}',
        },
      }],
      failurePolicy: 'Fail', reinvocationPolicy: 'Never',
    };
    await faults.first.client.create(MUTATING_POLICIES, { metadata: { name }, spec } as KubernetesObject);
    await faults.first.client.create(
      MUTATING_POLICY_BINDINGS, { metadata: { name }, spec: { policyName: name } } as KubernetesObject,
    );
    const probe: Pod = {
      metadata: { namespace: NAMESPACE, name: 'row-47-mutated-probe' },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    await eventually(
      'the policy',
      async () => (await faults.first.client.dryRunCreate(PODS, probe)).spec.containers[0]?.image === 'house/main:1',
    );
    const pair = await faults.run('row-47-mutated', faults.first);
    assert.equal(pair.delegate.spec.containers[0]?.image, 'house/main:1');
    await sleep(LAZY_STATUS_MS + 5_000); // by then all is written that is written anyway
    const made = await writesAbout('row-47-mutated');
    await sleep(LOOP_MS);
    const rest = (await writesAbout('row-47-mutated')) - made;
    await faults.source.client.patch(PODS, placeOf(pair.proxy), {
      patchType: 'strategic', patch: { spec: { containers: [{ name: 'main', image: 'example/main:2' }] } },
    });
    const changed = await writesAbout('row-47-mutated');
    await sleep(LOOP_MS);
    const carried = (await writesAbout('row-47-mutated')) - changed;
    tell({
      row: '47: writes of ours in 20 s at rest, and after a change that the target takes back', rest, carried, limit: 4,
    });
    assert.ok(rest === 0 && carried <= 4, `${rest} writes at rest, ${carried} after a change`);
    await faults.assertSame(pair);
    await remove(pair.proxy);
    await faults.first.client.delete(MUTATING_POLICY_BINDINGS, { name });
    await faults.first.client.delete(MUTATING_POLICIES, { name });
  });
});

/** Writes of ours to a proxy and all that was made for it, by the audit logs of the source and the first target. */
async function writesAbout(name: string): Promise<number> {
  const isWrite = (line: string) => /"stage":"ResponseComplete"/.test(line) && /"verb":"(?:create|update|patch|delete)"/
    .test(line) && /"userAgent":"isthmus-(?!test)/
    .test(line);
  const clusters = [faults.source, faults.first];
  const logs = await Promise.all(clusters.map(({ cluster }) => readFile(cluster.auditLog ?? '', 'utf8')));
  return logs.flatMap((text) => text.split('\n'))
    .filter((line) => isWrite(line) && (line.includes(`/${name}`) || line.includes(`"name":"${name}`))).length;
}
