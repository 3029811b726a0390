// The kinds that follow elected pods into targets, as data: which objects pods need, what is copied, and which
// annotations are set. Another kind is another row here, if pods name it or if it selects them by a map of labels as
// Services do; CONTRIBUTING.md lists where it needs permissions. Set-based selectors, and empty ones that mean all
// pods, are not supported.
import type { KubernetesObject, Service, StringMap } from '../../api/objects/core.ts';
import {
  CILIUM_FORMER_GLOBAL_ANNOTATION, GLOBAL_ANNOTATION, IS_DELEGATE_ANNOTATION, TRUE,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CONFIG_MAPS, INGRESSES, SECRETS, SERVICES } from '../../api/resource-types.ts';
import { fieldPath, valuesAt, type FieldPath } from '../../model/objects/field-path.ts';
import { originalSelector, rewrittenSelector } from './followed-service.ts';

/** Why an object is needed in a target. */
export type Need =
  /** Pods refer to it by name: it is copied to where they run. */
  | { readonly kind: 'named' }
  /**
   * It selects pods: it is copied to all targets where they run or may run, so that all those clusters can reach them.
   */
  | { readonly kind: 'selects'; readonly selectorOf: (object: KubernetesObject) => StringMap }
  /** It refers to objects of a kind that is copied: it goes where they go. `paths` are the fields with their names. */
  | { readonly kind: 'refers-to'; readonly plural: string; readonly paths: readonly FieldPath[] };

/** One kind. */
export interface FollowedKind {
  readonly type: ResourceType;
  readonly need: Need;
  /** Top-level fields that are copied, in addition to labels and annotations. */
  readonly copiedFields: readonly string[];
  /**
   * Fields that are not copied, such as a Service's `clusterIP`: each cluster sets its own, `unless` the user set this
   * value.
   */
  readonly clusterLocalFields: readonly { readonly path: FieldPath; readonly unless?: string }[];
  /** Rewrites what must differ in a target. */
  readonly rewrite?: (object: KubernetesObject) => KubernetesObject;
  /** Why an object of this kind must not leave its cluster; undefined when it may. */
  readonly reject?: (object: KubernetesObject) => string | undefined;
  /** Annotations that the source's object gets while it is followed; its copies get them too. */
  readonly sourceAnnotations: StringMap;
  /** Annotations of copies only. */
  readonly copyAnnotations: StringMap;
  /** How long an object that is no longer needed stays, in ms: pods are replaced frequently. */
  readonly lingerMs: number;
}

/** An object by name. */
export interface FollowedName {
  readonly kind: FollowedKind;
  readonly namespace: string;
  readonly name: string;
}

/** The work queue key of an object: `namespace/name/plural`; `key` is `namespace/name`. */
export function followKey({ type }: FollowedKind, key: string): string {
  return `${key}/${type.plural}`;
}

/** Parses a {@link followKey}; undefined for any other text. */
export function parseFollowKey(text: string): FollowedName | undefined {
  const [namespace = '', name = '', plural = ''] = text.split('/');
  const kind = FOLLOWED_KINDS.find(({ type }) => type.plural === plural);
  return kind === undefined ? undefined : { kind, namespace, name };
}

/** A pod is replaced within a second or two, old and new being bound one after the other. */
const LINGER_MS = 5_000;
/** What ConfigMaps and Secrets have in common: containers read them. */
const NAMED = {
  need: { kind: 'named' }, clusterLocalFields: [], sourceAnnotations: {}, copyAnnotations: {}, lingerMs: LINGER_MS,
} as const;
/** What Services and Ingresses have in common: traffic reaches pods by them. */
const TRAFFIC_DEFAULTS = { copyAnnotations: { [IS_DELEGATE_ANNOTATION]: '' }, lingerMs: LINGER_MS } as const;

/** All followed kinds. A kind comes after those that it refers to. */
export const FOLLOWED_KINDS: readonly FollowedKind[] = [
  { ...NAMED, type: CONFIG_MAPS, copiedFields: ['data', 'binaryData', 'immutable'] },
  { ...NAMED, type: SECRETS, copiedFields: ['data', 'type', 'immutable'], reject: rejectToken },
  {
    ...TRAFFIC_DEFAULTS,
    type: SERVICES,
    need: { kind: 'selects', selectorOf: originalSelector },
    copiedFields: ['spec'],
    clusterLocalFields: [
      { path: fieldPath('spec.clusterIP'), unless: 'None' },
      ...['spec.clusterIPs', 'spec.ipFamilies', 'spec.healthCheckNodePort', 'spec.ports[].nodePort'].map(
        (text) => ({ path: fieldPath(text) }),
      ),
    ],
    rewrite: toTargetService,
    sourceAnnotations: { [GLOBAL_ANNOTATION]: TRUE, [CILIUM_FORMER_GLOBAL_ANNOTATION]: TRUE },
  },
  {
    ...TRAFFIC_DEFAULTS,
    type: INGRESSES,
    need: {
      kind: 'refers-to',
      plural: SERVICES.plural,
      paths: ['spec.rules[].http.paths[].backend.service.name', 'spec.defaultBackend.service.name'].map(fieldPath),
    },
    copiedFields: ['spec'],
    clusterLocalFields: [],
    sourceAnnotations: { [GLOBAL_ANNOTATION]: TRUE },
  },
];

/** A token is only valid in its own cluster, and the target's controllers would replace or delete a copy. */
function rejectToken(secret: KubernetesObject): string | undefined {
  const [type] = valuesAt(secret, fieldPath('type'));
  return type === 'kubernetes.io/service-account-token'
    ? 'it holds a ServiceAccount token of the source cluster; create a token of the target in a Secret of the ' +
      'same name there'
    : undefined;
}

/**
 * It selects delegates. Both families are asked for where the target has both: a target of one family would reject
 * RequireDualStack, and its clients would lose the Service.
 */
function toTargetService(object: KubernetesObject): KubernetesObject {
  const service = object as Service;
  const isDual = service.spec?.ipFamilyPolicy === 'RequireDualStack';
  return {
    ...service,
    spec: {
      ...service.spec, selector: rewrittenSelector(service), ...(isDual && { ipFamilyPolicy: 'PreferDualStack' }),
    },
  } as Service;
}
