// Generated templates of the Helm chart: CRDs, RBAC, webhook configurations, from the same source as everything else.
// Values that depend on the release are Helm expressions, and each object is rendered only if a component that needs it
// is enabled.
import { stringify } from 'yaml';
import { ELECTED_POD_RULES, WEBHOOK_PATHS } from '../api/admission-rules.ts';
import type { KubernetesObject } from '../api/objects/core.ts';
import { DEFINITION_CATEGORY } from '../api/objects/schema.ts';
import type { ComponentAccount } from '../model/access/component-accounts.ts';
import {
  customResourceDefinitions, POD_CHAPERON_DEFINITION, serviceDiscoveryCrds, type CustomResourceDefinition,
} from './objects/crds.ts';
import { brokerAccess, gatewayAccess } from './objects/gateway.ts';
import { podPlaneAccess, podPlaneNamespace } from './objects/pod-plane.ts';
import { proxyPolicyManifests } from './policies/proxy-policy.ts';
import type { Side } from './objects/component-permissions.ts';
import { rbacObjects, admiraltyRoles, type RbacObject } from './objects/rbac.ts';
import { serviceDiscoveryAccess } from './objects/service-discovery.ts';
import { packagedWebhookConfiguration, validatingWebhookConfiguration } from './objects/webhook-configuration.ts';

/** A template of the chart; `path` is relative to the chart's folder. */
export interface ChartTemplate {
  readonly path: string;
  readonly text: string;
}

const NAMESPACE = '{{ .Release.Namespace }}';
const HEADER =
  '{{- /* Printed by `npm run manifests`; change the TypeScript files in manifests/ and api/ instead. */}}\n';
const ACCOUNT_ANNOTATIONS = [
  '{{- with .Values.serviceAccountAnnotations }}', 'annotations: {{- toYaml . | nindent 4 }}', '{{- end }}',
].map((line) => `  ${line}\n`).join('');
const SIDES: Readonly<Record<Side, string>> = {
  source: '.Values.source.enabled', target: '.Values.target.enabled',
  self: 'and .Values.source.enabled .Values.target.enabled', either: 'or .Values.source.enabled .Values.target.enabled',
};
const COMPONENTS: Readonly<Record<ComponentAccount, string>> = {
  'isthmus-webhook': 'webhook', 'isthmus-scheduler': 'scheduler', 'isthmus-delegate-controller': 'delegateController',
  'isthmus-virtual-node': 'virtualNode', 'isthmus-peering': 'peering',
  'isthmus-discovery': 'discovery',
};

/** All generated templates. */
export function chartTemplates(): readonly ChartTemplate[] {
  return [
    ...customResourceDefinitions().map(
      (crd) => ({
        path: `templates/crds/${crd.spec.names.plural}.yaml`,
        text: HEADER + guarded('.Values.crds.enabled', unlessForeign(toText(kept(crd)), crd)),
      }),
    ),
    ...serviceDiscoveryCrds().map(
      (crd) => ({
        path: `templates/crds/${crd.spec.names.plural}.yaml`,
        text: HEADER + guarded('and .Values.serviceDiscovery.enabled .Values.serviceDiscovery.crds', toText(kept(crd))),
      }),
    ),
    {
      path: 'templates/rbac.yaml',
      text: HEADER + rbacObjects(NAMESPACE)
        .map((part) => guarded(conditionOf(part), withIdentity(toText(part.object), part.object))).join(''),
    },
    guardedFile('admiralty-roles', '.Values.admiraltyRoles.enabled', admiraltyRoles()),
    guardedFile('gateway-rbac', '.Values.gateway.enabled', gatewayAccess(NAMESPACE)),
    guardedFile('broker-rbac', '.Values.broker.enabled', brokerAccess(NAMESPACE)),
    guardedFile('service-discovery-rbac', '.Values.serviceDiscovery.enabled', serviceDiscoveryAccess(NAMESPACE)),
    guardedFile('pod-plane-rbac', '.Values.podPlane.enabled', [podPlaneNamespace(), ...podPlaneAccess(NAMESPACE)]),
    guardedFile(
      'proxy-policy', 'and .Values.source.enabled (not (include "isthmus.admiralty" . | trim))',
      proxyPolicyManifests(NAMESPACE),
    ),
    { path: 'templates/webhook-configuration.yaml', text: HEADER + webhookTemplates() },
  ];
}

/**
 * Kinds that are kept on uninstall: deleting a CRD deletes all of its objects, and with a PodChaperon its running pod.
 */
function kept(crd: KubernetesObject): KubernetesObject {
  return {
    ...crd,
    metadata: { ...crd.metadata, annotations: { ...crd.metadata.annotations, 'helm.sh/resource-policy': 'keep' } },
  };
}

/** The stored definition of PodChaperons stays where it is Admiralty's, see {@link isForeignDefinition}. */
function unlessForeign(text: string, { metadata: { name } }: CustomResourceDefinition): string {
  if (name !== POD_CHAPERON_DEFINITION) return text;
  const live = `lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "${name}"`;
  const [metadata = '', spec = ''] = text.split(/^spec:\n/m);
  const isOurs = `has "${DEFINITION_CATEGORY}" (dig "spec" "names" "categories" list $live)`;
  const hasNoSchema = 'dig "spec" "preserveUnknownFields" false $live';
  return `${metadata}spec:\n{{- $live := ${live} }}\n`
    + `{{- if and $live (not (${isOurs})) (not (${hasNoSchema})) }}\n`
    + `  {{- toYaml $live.spec | nindent 2 }}\n{{- else }}\n${spec}{{- end }}\n`;
}

/** When an RBAC object is needed, as a Helm expression. */
function conditionOf({ object: { kind }, side, component }: RbacObject): string {
  if (kind === 'ServiceAccount' && component === undefined) return 'eq .Values.deploy "AllInOne"';
  if (component === undefined) return SIDES[side];
  const runs = `include "isthmus.runs.${COMPONENTS[component]}" .`;
  if (kind === 'ServiceAccount') return `and (eq .Values.deploy "PerComponent") (${runs})`;
  return `and (${runs}) (${SIDES[side]})`;
}

function webhookTemplates(): string {
  const configurations = [validatingWebhookConfiguration({ installNamespace: NAMESPACE }), packagedWebhookConfiguration(
    { installNamespace: NAMESPACE },
  )];
  return configurations.map((configuration) => guarded('.Values.source.enabled', withValues(toText(configuration))))
    .join('');
}

/** Replaces defaults of the configuration by the chart's values. */
function withValues(text: string): string {
  return text
    .replaceAll(
      /- name: (\S+)\n {4}clientConfig:\n {6}service:\n(?: {8}.*\n)+/g,
      (_found, name: string) =>
        `- name: ${name}\n    clientConfig: {{- include "isthmus.clientConfig" (dict "root" . "path" ` +
          `"${WEBHOOK_PATHS[name]}") | nindent 6 }}\n`,
    )
    .replaceAll(
      /( {4})failurePolicy: Fail\n/g,
      (found, indent: string) =>
        `${indent}{{- if .Values.webhook.refuseUntilReached }}\n${indent}rules: ` +
          `${JSON.stringify(ELECTED_POD_RULES)}\n${indent}{{- end }}\n${found}`,
    )
    .replaceAll('reinvocationPolicy: IfNeeded', 'reinvocationPolicy: {{ .Values.webhook.reinvocationPolicy }}')
    .replaceAll('failurePolicy: Fail', 'failurePolicy: {{ .Values.webhook.failurePolicy }}')
    .replace('metadata:\n', 'metadata:\n  {{- include "isthmus.injectCertificateAuthority" . | nindent 2 }}\n');
}

function guardedFile(name: string, condition: string, objects: readonly KubernetesObject[]): ChartTemplate {
  const text = HEADER + objects.map((object) => guarded(condition, toText(object))).join('');
  return { path: `templates/${name}.yaml`, text };
}

function guarded(condition: string, text: string): string {
  return `{{- if ${condition} }}\n---\n${text}{{- end }}\n`;
}

/** The ServiceAccount of a component, with the identity that a cloud gives to its pods. */
function withIdentity(text: string, { kind }: KubernetesObject): string {
  return kind === 'ServiceAccount' ? text.replace('metadata:\n', `metadata:\n${ACCOUNT_ANNOTATIONS}`) : text;
}

/** YAML of an object. Helm's braces in a description would be a template; a test makes sure that there are none. */
function toText(object: KubernetesObject): string {
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
}
