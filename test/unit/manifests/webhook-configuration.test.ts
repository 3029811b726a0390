import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { webhookConfiguration } from '../../../manifests/webhook-configuration.ts';

/** What the API server is to be told, spelled out: whoever changes it must do so here as well. */
const GOLDEN = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'isthmus', labels: { 'app.kubernetes.io/part-of': 'isthmus' } },
  webhooks: [
    {
      name: 'pods.isthmus.multicluster.admiralty.io',
      clientConfig: { service: { namespace: 'ns', name: 'isthmus-webhook', path: '/mutate--v1-pod', port: 443 } },
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
      namespaceSelector: {
        matchLabels: { 'multicluster-scheduler': 'enabled' },
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['ns', 'kube-system'] }],
      },
      matchConditions: [
        {
          name: 'is-elected',
          expression: "has(object.metadata.annotations) && 'multicluster.admiralty.io/elect' in object.metadata.annotations",
        },
      ],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      reinvocationPolicy: 'Never',
      sideEffects: 'None',
      timeoutSeconds: 5,
      admissionReviewVersions: ['v1'],
    },
  ],
};

describe('webhookConfiguration', () => {
  it('is this, through the Service of the install namespace', () => {
    assert.deepEqual(webhookConfiguration({ installNamespace: 'ns' }), GOLDEN);
  });

  it('with a URL has that address and no Service, and is the same otherwise', () => {
    const webhookUrl = 'https://webhook.example:9443/mutate--v1-pod';
    const [webhook] = GOLDEN.webhooks;
    assert.deepEqual(webhookConfiguration({ installNamespace: 'ns', webhookUrl }), { ...GOLDEN, webhooks: [{ ...webhook, clientConfig: { url: webhookUrl } }] });
  });

  it('never has a CA bundle, which the webhook owns', () => {
    for (const webhookUrl of [undefined, 'https://h/p']) {
      for (const { clientConfig } of webhookConfiguration({ installNamespace: 'ns', webhookUrl }).webhooks ?? []) {
        assert.ok(!('caBundle' in clientConfig));
      }
    }
  });

  it('excludes kube-system once when Isthmus is installed there', () => {
    const text = JSON.stringify(webhookConfiguration({ installNamespace: 'kube-system' }));
    assert.match(text, /"values":\["kube-system"\]/);
  });
});
