import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../../api/resource-types.ts';
import {
  installInto, installOptions, installServiceDiscovery, nextSteps, webhookUrl,
} from '../../../../cli/install/install.ts';
import { AppError } from '../../../../process/errors.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';

const isBadInput = (pattern: RegExp) =>
  (error: unknown) => error instanceof AppError && error.code === 'BadInput' && pattern.test(error.message);

describe('--webhook-url', () => {
  const accepted: readonly [string, string, string][] = [
    ['a bare host gets the path', 'https://webhook.example', 'https://webhook.example/mutate--v1-pod'],
    [
      'a host with a slash gets the path', 'https://webhook.example:9443/',
      'https://webhook.example:9443/mutate--v1-pod',
    ],
    ['an IPv6 address gets the path', 'https://[::1]:9443', 'https://[::1]:9443/mutate--v1-pod'],
    ['a path of its own stays', 'https://webhook.example/isthmus/pods', 'https://webhook.example/isthmus/pods'],
    [
      'the path itself is not added twice', 'https://webhook.example/mutate--v1-pod',
      'https://webhook.example/mutate--v1-pod',
    ],
  ];
  for (const [what, given, expected] of accepted) {
    it(what, () => assert.equal(webhookUrl(given), expected));
  }

  const refused: readonly [string, string, RegExp][] = [
    ['plain HTTP', 'http://webhook.example', /must be https/],
    ['no URL', 'webhook.example:9443', /must be https/],
    ['nothing', '', /must be https/],
    ['a password', 'https://user:secret@webhook.example', /must not have a user/],
    ['a query', 'https://webhook.example/x?y=z', /query/],
    ['a fragment', 'https://webhook.example/x#y', /fragment/],
  ];
  for (const [what, given, pattern] of refused) {
    it(`refuses ${what}`, () => assert.throws(() => webhookUrl(given), isBadInput(pattern)));
  }

  it('is not repeated in an error when it holds a password', () => {
    assert.throws(() => webhookUrl('https://user:secret@h'), (error: Error) => !error.message.includes('secret'));
  });
});

describe('installOptions', () => {
  it('keeps the namespace and leaves the address to the Service', () => {
    assert.deepEqual(installOptions({ namespace: 'ns' }), { installNamespace: 'ns', webhookUrl: undefined });
  });

  it('refuses a name that no namespace can have', () => {
    assert.throws(
      () => installOptions({ namespace: 'Isthmus_System' }), isBadInput(/--namespace must be a DNS-1123 label/),
    );
  });
});

it('isthmus install changes nothing in a cluster that is older than 1.30', async () => {
  const cluster = new MemoryCluster()
    .withoutKinds(VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS);
  const progress = { tell: () => undefined, signal: new AbortController().signal };
  await assert.rejects(installInto(cluster.client, { installNamespace: 'ns' }, progress), {
    code: 'NotFound', message: /does not serve ValidatingAdmissionPolicies.*Kubernetes 1\.30 or newer/,
  });
  assert.deepEqual(cluster.writes, []);
});

describe('installServiceDiscovery', () => {
  it('says so where kinds of somebody else are too old, as those of mcs-api 0.1, and applies nothing', async () => {
    const definition = (plural: string, ...versions: readonly string[]): Stored => [CUSTOM_RESOURCE_DEFINITIONS, {
      metadata: { name: `${plural}.multicluster.x-k8s.io` }, spec: { versions: versions.map((name) => ({ name })) },
    } as object as Stored[1]];
    const cluster = new MemoryCluster(
      definition('serviceexports', 'v1alpha1'), definition('serviceimports', 'v1alpha1', 'v1beta1'),
    );
    const progress = { tell: () => assert.fail('applied'), signal: new AbortController().signal };
    await assert.rejects(installServiceDiscovery(cluster.client, 'isthmus-system', progress), {
      code: 'StillInUse', message: /^serviceexports\.multicluster\.x-k8s\.io of somebody else do not serve v1beta1/,
    });
  });
});

describe('nextSteps', () => {
  it('tells where the webhook must be: at its URL, or in the install namespace', () => {
    assert.match(
      nextSteps({ installNamespace: 'ns', webhookUrl: 'https://h/p' }), /answers at https:\/\/h\/p: isthmus run/,
    );
    assert.match(nextSteps({ installNamespace: 'ns' }), /in namespace ns: isthmus run/);
  });
});
