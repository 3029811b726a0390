// The shape of scheduling constraints (`core/v1` of Kubernetes v1.36), to report typos before the API server rejects
// the patch. User input is validated strictly, as in Admiralty: an unknown field is an error. Values (operators, key
// syntax) are left to the API server, which reports them well.
import { isRecord } from '../objects/json-values.ts';

/** A shape: a scalar by its JavaScript type, a list, a string map, or an object with these fields. */
type Shape =
  | 'string' | 'number' | 'boolean' | 'strings' | 'map'
  | { readonly list: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> };

const list = (shape: Shape): Shape => ({ list: shape });
const object = (fields: Readonly<Record<string, Shape>>): Shape => ({ fields });

const REQUIREMENTS = list(object({ key: 'string', operator: 'string', values: 'strings' }));
const LABEL_SELECTOR = object({ matchLabels: 'map', matchExpressions: REQUIREMENTS });
const NODE_TERM = object({ matchExpressions: REQUIREMENTS, matchFields: REQUIREMENTS });
const POD_TERM = object({
  labelSelector: LABEL_SELECTOR, namespaces: 'strings', topologyKey: 'string', namespaceSelector: LABEL_SELECTOR,
  matchLabelKeys: 'strings', mismatchLabelKeys: 'strings',
});
const POD_AFFINITY = object({
  requiredDuringSchedulingIgnoredDuringExecution: list(POD_TERM),
  preferredDuringSchedulingIgnoredDuringExecution: list(object({ weight: 'number', podAffinityTerm: POD_TERM })),
});
const CONSTRAINTS: Readonly<Record<string, Shape>> = {
  nodeSelector: 'map',
  tolerations:
    list(object({ key: 'string', operator: 'string', value: 'string', effect: 'string', tolerationSeconds: 'number' })),
  affinity: object({
    nodeAffinity: object({
      requiredDuringSchedulingIgnoredDuringExecution: object({ nodeSelectorTerms: list(NODE_TERM) }),
      preferredDuringSchedulingIgnoredDuringExecution: list(object({ weight: 'number', preference: NODE_TERM })),
    }),
    podAffinity: POD_AFFINITY,
    podAntiAffinity: POD_AFFINITY,
  }),
  topologySpreadConstraints: list(object({
    maxSkew: 'number',
    topologyKey: 'string', whenUnsatisfiable: 'string', labelSelector: LABEL_SELECTOR, minDomains: 'number',
    nodeAffinityPolicy: 'string', nodeTaintsPolicy: 'string', matchLabelKeys: 'strings',
  })),
};

/** Fields of a PodSpec that are constraints. */
export const CONSTRAINT_FIELDS: ReadonlySet<string> = new Set(Object.keys(CONSTRAINTS));

/** The other fields of a PodSpec: Admiralty ignores them, so users' manifests may have them. */
const OTHER_FIELDS: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'automountServiceAccountToken', 'containers', 'dnsConfig', 'dnsPolicy', 'enableServiceLinks', 'ephemeralContainers',
  'hostAliases', 'hostIPC', 'hostNetwork',
  'hostPID', 'hostUsers', 'hostname', 'hostnameOverride', 'imagePullSecrets', 'initContainers', 'nodeName',
  'os', 'overhead',
  'preemptionPolicy', 'priority', 'priorityClassName', 'readinessGates', 'resourceClaims', 'resources', 'restartPolicy',
  'runtimeClassName',
  'schedulerName', 'schedulingGates', 'schedulingGroup', 'securityContext', 'serviceAccount', 'serviceAccountName',
  'setHostnameAsFQDN', 'shareProcessNamespace', 'subdomain', 'terminationGracePeriodSeconds', 'volumes',
]);

/** Whether this is a field of a PodSpec that is not a constraint. */
export function isOtherPodSpecField(field: string): boolean {
  return OTHER_FIELDS.has(field);
}

/**
 * Errors in a user's constraints, as text after the name of the object; fields for which `isIgnored` holds are skipped.
 */
export function shapeErrors(value: unknown, isIgnored: (field: string) => boolean): readonly string[] {
  if (!isRecord(value)) return ['is not a mapping of fields'];
  const looked = Object.entries(value).filter(([field]) => !isIgnored(field));
  return errorsOfFields(Object.fromEntries(looked), CONSTRAINTS, '');
}

/** The same for constraints that an API server has accepted, which may have fields unknown here. */
export function knownShapeErrors(constraints: object): readonly string[] {
  return shapeErrors(constraints, (field) => !CONSTRAINT_FIELDS.has(field)).filter(
    (error) => !error.startsWith(UNKNOWN_FIELD),
  );
}

/**
 * Constraints from YAML, with numbers and truth values as text where Kubernetes has text: Go reads them so when it
 * knows the field, and users of Admiralty left out the quotes.
 */
export function withTexts(value: unknown, shape: Shape = { fields: CONSTRAINTS }): unknown {
  const member = (set: unknown, field: string): unknown => {
    // within a list or a map Go reads null as an empty text
    if (shape === 'strings' || shape === 'map') return set === null ? '' : withTexts(set, 'string');
    return withTexts(set, memberOf(shape, field));
  };
  if (Array.isArray(value)) return value.map((entry: unknown) => member(entry, ''));
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([field, set]) => [field, member(set, field)]));
  }
  return shape === 'string' && (typeof value === 'number' || typeof value === 'boolean') ? String(value) : value;
}

/** The shape of an element or a field; of an unknown field one without text. */
function memberOf(shape: Shape, field: string): Shape {
  if (typeof shape === 'string') return shape;
  if ('list' in shape) return shape.list;
  return (Object.hasOwn(shape.fields, field) ? shape.fields[field] : undefined) ?? 'boolean';
}

const UNKNOWN_FIELD = 'has an unknown field';

function errorsOfFields(value: object, fields: Readonly<Record<string, Shape>>, path: string): string[] {
  return Object.entries(value).flatMap(([field, set]) => {
    const at = path === '' ? field : `${path}.${field}`;
    const shape = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (shape === undefined) return [`${UNKNOWN_FIELD} ${at}`];
    return set === null ? [] : errorsOf(set, shape, at);
  });
}

function errorsOf(value: unknown, shape: Shape, at: string): string[] {
  if (shape === 'map') {
    const isMap = isRecord(value) && Object.values(value).every(isText);
    return isMap ? [] : [`must have strings by key in ${at}`];
  }
  if (shape === 'strings') {
    return Array.isArray(value) && value.every(isText) ? [] : [`must have a list of strings in ${at}`];
  }
  if (typeof shape === 'string') return typeof value === shape ? [] : [`must have a ${shape} in ${at}`];
  if ('fields' in shape) return isRecord(value)
    ? errorsOfFields(value, shape.fields, at)
    : [`must have a mapping in ${at}`];
  if (!Array.isArray(value)) return [`must have a list in ${at}`];
  return value.flatMap((entry, index) => errorsOf(entry, shape.list, `${at}[${index}]`));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
