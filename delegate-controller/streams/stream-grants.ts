// The permission to open logs, exec, attach and port-forward of a source's own delegates. RBAC has names and no label
// selectors, so each source has a Role in each namespace with the names of the pods that it requested, while they are
// its delegates.
import type { KubernetesObject } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL, STREAMS_REQUESTED_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { ADMIRALTY_API_VERSION } from '../../api/objects/group-version.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { STREAM_RULES } from '../../model/access/pod-mode-rules.ts';
import { boundRole, onlyNamed, PART_OF, type RbacSubject } from '../../model/access/rbac-objects.ts';
import type { SourceRule } from '../target-cache/source-rules.ts';

/** A PodChaperon whose source requests streams of its delegate. */
export interface RequestedStreams {
  /** Of the chaperon, and so of its delegate. */
  readonly key: string;
  readonly chaperonUid: string;
  readonly clusterId: string | undefined;
  /** The text that the source wrote; a different text is a new request. */
  readonly requestedAt: string;
}

/** The request of a chaperon; undefined without one, and for terminating chaperons. */
export function toRequestedStreams({ metadata }: PodChaperon): RequestedStreams | undefined {
  const requestedAt = metadata.annotations?.[STREAMS_REQUESTED_ANNOTATION];
  if (requestedAt === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  return {
    key: objectKey(metadata), chaperonUid: metadata.uid ?? '', clusterId: metadata.labels?.[PARENT_CLUSTER_LABEL],
    requestedAt,
  };
}

/** Labels of the Roles and their bindings. */
export const STREAM_LABELS = { ...PART_OF, 'app.kubernetes.io/component': 'source-streams' } as const;
/** Maximum number of names in one Role, the most recent requests; a source whose pod is left out requests it again. */
const MAX_NAMES = 500;

/** Inputs for the permissions in a namespace. */
export interface StreamsCase {
  readonly namespace: string;
  /** Of the namespace, the most recent request last. */
  readonly asked: readonly RequestedStreams[];
  /** UID of the chaperon that the pod of this key was made from. */
  readonly madeFrom: (key: string) => string | undefined;
  readonly sources: readonly SourceRule[];
}

/** The Roles that a namespace should have, by name, with the names of pods; each with its source. */
export function wantedRoles(
  { namespace, asked, madeFrom, sources }: StreamsCase,
): ReadonlyMap<string, { readonly source: SourceRule; readonly pods: readonly string[] }> {
  const real = asked.filter(({ key, chaperonUid }) => chaperonUid !== '' && madeFrom(key) === chaperonUid);
  const known = new Set(sources.map(({ clusterId }) => clusterId));
  const roles = sources.filter(
    (source) => source.streams === 'OwnDelegates' && (source.namespace === undefined || source.namespace === namespace),
  ).map((source) => {
    // A source without a known cluster ID may only claim pods that belong to no known source.
    const own = real.filter(({ clusterId }) => (
      source.clusterId === undefined ? !known.has(clusterId) || clusterId === undefined : source.clusterId === clusterId
    ));
    return [roleName(source), {
      source, pods: own.slice(-MAX_NAMES).map(({ key }) => key.slice(key.indexOf('/') + 1)).toSorted(),
    }] as const;
  });
  return new Map(roles.filter(([, { pods }]) => pods.length > 0));
}

function roleName({ namespace, name }: SourceRule): string {
  return joinName(
    [{ constant: namespace === undefined ? 'admiralty-streams-of-cluster' : 'admiralty-streams-of-namespace' }, name],
    MAX_NAME_LENGTH,
  );
}

/** The Role and its binding. */
export function streamManifests(namespace: string, source: SourceRule, pods: readonly string[]): readonly [
  KubernetesObject, KubernetesObject,
] {
  const name = roleName(source);
  const rules = STREAM_RULES.map((rule) => onlyNamed(rule, pods));
  const kind = source.namespace === undefined ? 'ClusterSource' : 'Source';
  const ownerReferences = [{ apiVersion: ADMIRALTY_API_VERSION, kind, name: source.name, uid: source.uid }];
  const owned = (object: KubernetesObject): KubernetesObject =>
    ({ ...object, metadata: { ...object.metadata, labels: STREAM_LABELS, ownerReferences } });
  const [role, binding] = boundRole({ namespace, name }, rules, holdersOf(source));
  return [owned(role), owned(binding)];
}

function holdersOf({ account, userName }: SourceRule): readonly RbacSubject[] {
  const [namespace = '', name = ''] = account?.split('/') ?? [];
  return [...(account === undefined ? [] : [{ namespace, name }]), ...(userName === undefined ? [] : [{ userName }])];
}
