import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  validatingWebhookConfiguration, webhookConfiguration,
} from '../../../../manifests/objects/webhook-configuration.ts';

const MENTIONS = "has(object.metadata.annotations) && 'multicluster.admiralty.io/elect' in object.metadata.annotations";
const NOT_DECLINED = "object.metadata.annotations['multicluster.admiralty.io/elect'] != 'false'";

/** What the API server is to be told, spelled out: whoever changes it must do so here as well. */
const GOLDEN = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'isthmus', labels: { 'app.kubernetes.io/part-of': 'isthmus' } },
  webhooks: [
    {
      name: 'pods.isthmus.multicluster.admiralty.io',
      clientConfig: { service: { namespace: 'ns', name: 'isthmus-webhook', port: 443 } },
      rules:
        [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
      namespaceSelector: {
        matchLabels: { 'multicluster-scheduler': 'enabled' },
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['ns', 'kube-system'] }],
      },
      matchConditions: [
        {
          name: 'is-elected',
          expression: `${MENTIONS} && ${NOT_DECLINED}`,
        },
      ],
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      reinvocationPolicy: 'IfNeeded',
      sideEffects: 'None',
      timeoutSeconds: 5,
      admissionReviewVersions: ['v1', 'v1beta1'],
    },
  ],
};

/** The second webhook: pods of namespaces that elect all of theirs. */
const ofNamespaces = (name: string, matchLabels: object) => ({
  ...GOLDEN.webhooks[0],
  name: `${name}.isthmus.multicluster.admiralty.io`,
  clientConfig: GOLDEN.webhooks[0]!.clientConfig,
  namespaceSelector: { ...GOLDEN.webhooks[0]!.namespaceSelector, matchLabels },
  matchConditions: [{ name: 'is-not-declined', expression: `!(${MENTIONS}) || ${NOT_DECLINED}` }],
});
const NAMESPACES = ofNamespaces('namespaces', { 'isthmus.dev/elect': 'all' });

/** The last webhook: DaemonSets that would be on virtual nodes. */
const DAEMON_SETS = {
  name: 'daemonsets.isthmus.multicluster.admiralty.io',
  clientConfig: { service: { namespace: 'ns', name: 'isthmus-webhook', port: 443 } },
  rules: [{
    operations: ['CREATE', 'UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['daemonsets'],
    scope: 'Namespaced',
  }],
  matchConditions: [
    {
      name: 'tolerates-virtual-nodes',
      expression:
        "has(object.spec.template.spec.tolerations) && object.spec.template.spec.tolerations.exists(t, !has(t.key) " +
          "|| t.key in ['', 'virtual-kubelet.io/provider'])",
    },
    {
      name: 'template-changed',
      expression: "request.operation == 'CREATE' || object.spec.template != oldObject.spec.template",
    },
  ],
  failurePolicy: 'Ignore',
  matchPolicy: 'Equivalent',
  reinvocationPolicy: 'Never',
  sideEffects: 'None',
  timeoutSeconds: 5,
  admissionReviewVersions: ['v1', 'v1beta1'],
};

describe('webhookConfiguration', () => {
  it('is this, through the Service of the install namespace', () => {
    assert.deepEqual(webhookConfiguration({ installNamespace: 'ns' }), {
      ...GOLDEN, webhooks: [...GOLDEN.webhooks, NAMESPACES, DAEMON_SETS],
    });
  });

  it('with a URL has that address and no Service, and is the same otherwise', () => {
    const webhookUrl = 'https://webhook.example:9443/mutate--v1-pod';
    const [webhook] = GOLDEN.webhooks;
    assert.deepEqual(webhookConfiguration({ installNamespace: 'ns', webhookUrl }), {
      ...GOLDEN,
      webhooks: [
        { ...webhook, clientConfig: { url: webhookUrl } },
        { ...NAMESPACES, clientConfig: { url: `${webhookUrl}--namespace` } },
        { ...DAEMON_SETS, clientConfig: { url: 'https://webhook.example:9443/mutate--daemonsets' } },
      ],
    });
  });

  it("takes Liqo's labels of namespaces where the installer says so", () => {
    const { webhooks = [] } = webhookConfiguration({ installNamespace: 'ns', acceptsLiqoLabels: true });
    assert.deepEqual(webhooks.slice(2, -1), [
      ofNamespaces('liqo-enabled', { 'liqo.io/enabled': 'true' }),
      ofNamespaces('liqo-scheduling-enabled', { 'liqo.io/scheduling-enabled': 'true' }),
    ]);
  });

  it('lets the installer choose what becomes of elected pods while the webhook is away', () => {
    const policies = (['Fail', 'Ignore', undefined] as const).map(
      (failurePolicy) => webhookConfiguration({ installNamespace: 'ns', failurePolicy }).webhooks?.[0],
    );
    assert.deepEqual(
      policies.map((webhook) => (webhook as { failurePolicy?: string }).failurePolicy), ['Fail', 'Ignore', 'Fail'],
    );
  });

  it('never has a CA bundle, and no path behind the Service, which the webhook owns', () => {
    for (const webhookUrl of [undefined, 'https://h/p']) {
      for (const { clientConfig } of webhookConfiguration({ installNamespace: 'ns', webhookUrl }).webhooks ?? []) {
        assert.ok(!('caBundle' in clientConfig || 'path' in (clientConfig.service ?? {})));
      }
    }
  });

  it('excludes kube-system once when Isthmus is installed there', () => {
    const text = JSON.stringify(webhookConfiguration({ installNamespace: 'kube-system' }));
    assert.match(text, /"values":\["kube-system"\]/);
  });
});

describe('validatingWebhookConfiguration', () => {
  const { webhooks = [] } = validatingWebhookConfiguration({ installNamespace: 'ns' });
  const common = {
    failurePolicy: 'Ignore', matchPolicy: 'Equivalent', sideEffects: 'None', timeoutSeconds: 5,
    admissionReviewVersions: ['v1', 'v1beta1'],
  };
  const specChanged =
    { name: 'spec-changed', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" };
  const webhook =
    (name: string, apiGroup: string, resources: readonly string[], matchConditions: readonly object[] = []) => ({
    name: `${name}.isthmus.multicluster.admiralty.io`,
    clientConfig: { service: { namespace: 'ns', name: 'isthmus-webhook', port: 443 } },
    rules:
      [{ operations: ['CREATE', 'UPDATE'], apiGroups: [apiGroup], apiVersions: ['v1alpha1'], resources, scope: '*' }],
    matchConditions: [...matchConditions, specChanged],
    ...common,
  });

  it('asks about what the schemas cannot check, when it is new, and is never in the way', () => {
    const isChecked =
      { name: 'has-what-is-checked', expression: 'has(object.spec.excludedLabelsRegexp) || has(object.spec.headroom)' };
    assert.deepEqual(webhooks, [
      webhook('targets', 'multicluster.admiralty.io', ['targets', 'clustertargets'], [isChecked]),
      webhook('resourceshares', 'isthmus.dev', ['resourceshares']),
    ]);
  });

  it('has paths of its own behind the URL of the webhook', () => {
    const { webhooks: others = [] } =
      validatingWebhookConfiguration({ installNamespace: 'ns', webhookUrl: 'https://host:9443/mutate--v1-pod' });
    assert.deepEqual(others.map(({ clientConfig }) => clientConfig.url), ['targets', 'resourceshares'].map(
      (name) => `https://host:9443/validate--${name}`,
    ));
  });
});
