import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../../../api/objects/core.ts';
import { isSelected, podNeeds, podReferences } from '../../../../model/pod/pod-needs.ts';
import { aPod, labelled, named, withSpec, withUid } from '../../../support/objects/builders.ts';

const container = (fields: object): Partial<PodSpec> => ({ containers: [{ name: 'a', ...fields }] });
const volume = (source: object): Partial<PodSpec> => ({ volumes: [{ name: 'v', ...source }] });

describe('podReferences', () => {
  const cases: Record<string, readonly [spec: object, references: readonly string[]]> = {
    'nothing of a plain pod': [{}, []],
    'a ConfigMap volume': [volume({ configMap: { name: 'x' } }), ['configmaps/x']],
    'a Secret volume': [volume({ secret: { secretName: 'x' } }), ['secrets/x']],
    'both in a projected volume': [
      volume({
        projected: { sources: [{ secret: { name: 'x' } }, { configMap: { name: 'y' } }, { serviceAccountToken: {} }] },
      }),
      ['configmaps/y', 'secrets/x'],
    ],
    'the environment': [
      container(
        { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }, { name: 'B', value: 'b' }] },
      ),
      ['secrets/x'],
    ],
    'the environment as a whole': [
      container({ envFrom: [{ configMapRef: { name: 'x' } }, { secretRef: { name: 'y' } }] }),
      ['configmaps/x', 'secrets/y'],
    ],
    'init containers': [{ initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'x' } }] }] }, ['secrets/x']],
    'ephemeral containers':
      [{ ephemeralContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: 'x' } }] }] }, ['configmaps/x']],
    'image pull secrets, each once': [{ imagePullSecrets: [{ name: 'x' }, { name: 'x' }, {}] }, ['secrets/x']],
    'a CSI driver\'s Secret': [volume({ csi: { driver: 'd', nodePublishSecretRef: { name: 'x' } } }), ['secrets/x']],
    'the Secret of a Cinder volume': [volume({ cinder: { volumeID: 'v', secretRef: { name: 'x' } } }), ['secrets/x']],
    'not the CA that every cluster has':
      [volume({ projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }), []],
    'not what comes with the token of its ServiceAccount, which it does not keep': [
      {
        ...container({
          volumeMounts: [
            { name: 'kube-api-access-abcde', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
          ],
        }),
        volumes: [
          {
            name: 'kube-api-access-abcde',
            projected: {
              sources: [{ serviceAccountToken: {} }, { configMap: { name: 'openshift-service-ca.crt' } }],
            },
          },
          { name: 'kube-api-access-own', configMap: { name: 'x' } },
        ],
      },
      ['configmaps/x'],
    ],
    'what a user puts next to a token at a path of their own, where it is kept': [
      {
        ...container({ volumeMounts: [{ name: 'kube-api-access-own', mountPath: '/var/run/tokens' }] }),
        volumes: [{
          name: 'kube-api-access-own',
          projected: { sources: [{ serviceAccountToken: {} }, { configMap: { name: 'x' } }] },
        }],
      },
      ['configmaps/x'],
    ],
    'not what has no name': [volume({ configMap: {} }), []],
    'not a claim, which does not follow': [volume({ persistentVolumeClaim: { claimName: 'x' } }), []],
  };
  for (const [what, [spec, references]] of Object.entries(cases)) {
    it(`finds ${what}`, () => assert.deepEqual(podReferences(aPod(withSpec(spec))), references));
  }
});

describe('podNeeds', () => {
  it('is one value for pods of one template, and another for others', () => {
    const needs = podNeeds(aPod(named('a'), labelled({ app: 'x' })));
    assert.equal(podNeeds(aPod(named('b'), withUid('other'), labelled({ app: 'x' }))), needs);
    assert.notEqual(podNeeds(aPod(labelled({ app: 'y' }))), needs);
  });
});

describe('isSelected', () => {
  it('wants every term, and some', () => {
    assert.ok(isSelected({ a: '1' }, { a: '1', b: '2' }));
    assert.ok(!isSelected({ a: '1', c: '3' }, { a: '1', b: '2' }));
    assert.ok(!isSelected({}, { a: '1' }));
  });
});
