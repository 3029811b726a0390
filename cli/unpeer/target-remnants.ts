// What peering has created in a source for one target, found before anything is changed: a name without objects is an
// error, and objects of others are excluded even if they have one of Isthmus' names.
import type { ClusterTarget } from '../../api/kinds/cluster-target.ts';
import type { Secret } from '../../api/objects/core.ts';
import { TOKEN_ACCOUNT_ANNOTATION } from '../../api/objects/keys.ts';
import { CONFIG_MAPS, ROLE_BINDINGS, ROLES, SECRETS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import {
  joiningSecretName, kubeconfigSecretName, readingName, renewalName,
} from '../../peering/access/target-access.ts';
import { AppError } from '../../process/errors.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { targetObjectRef } from '../clusters/known-target.ts';
import { objectName } from '../clusters/apply-objects.ts';
import { isOfIsthmus, isOfTarget, type ObjectRef } from '../clusters/own-objects.ts';

/** The objects of a target in its source. */
export interface TargetRemnants {
  /** The (Cluster)Target; undefined if it is already gone. */
  readonly object: ClusterTarget | undefined;
  /** The Secret that peering wrote; undefined if there is none, or if it is not ours. */
  readonly secret: Secret | undefined;
  /**
   * Secrets and permissions of this target alone, the Secret with the kubeconfig last: while it exists, unpeering can
   * be started again.
   */
  readonly access: readonly ObjectRef[];
}

/** A target, and its source. */
export interface TargetInSource {
  /** Of the source. */
  readonly client: ClusterClient;
  readonly target: TargetRef;
  readonly installNamespace: string;
}

/**
 * Finds the objects of a target.
 * @throws AppError `BadInput` for a target that peering did not create.
 */
export async function findRemnants(
  { client, target, installNamespace }: TargetInSource, signal: AbortSignal,
): Promise<TargetRemnants> {
  const { type, at } = targetObjectRef(target);
  const object = (await client.get(type, at, signal).catch(unless(isNotFound))) as ClusterTarget | undefined;
  if (object !== undefined && !isOfTarget(target)(object)) {
    throw new AppError(
      'BadInput',
      `${target.kind} ${targetText(target)} was not created by "isthmus peer" or "isthmus join", so it is not ` +
        `removed: ` +
        `drain it with "isthmus drain ${targetText(target)}", then delete it with kubectl. Nothing was changed.`,
    );
  }
  const candidates = secretRefs(target, installNamespace, object);
  const secrets = await Promise.all(candidates.map((at) => client.get(SECRETS, at, signal).catch(unless(isNotFound))));
  const access = candidates.flatMap(({ namespace, name }): readonly ObjectRef[] => {
    const permissions = [renewalName(name), readingName(name)].flatMap(
      (right) => [ROLE_BINDINGS, ROLES].map((type) => ({ type, at: { namespace, name: right } })),
    );
    const joining = { namespace, name: joiningSecretName(target) };
    return [...permissions, { type: SECRETS, at: joining }, { type: SECRETS, at: { namespace, name } }];
  });
  return { object, secret: secrets.find((secret) => secret !== undefined && isKubeconfigOf(target)(secret)), access };
}

/** Whether peering wrote this Secret for this target. */
function isKubeconfigOf(target: TargetRef): (secret: Secret) => boolean {
  return (secret) =>
    isOfTarget(target)(secret) && secret.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION] !== undefined;
}

/** Whether any of these objects exists and belongs to Isthmus. */
export async function isAnyThere(
  { client, target }: TargetInSource, refs: readonly ObjectRef[], signal: AbortSignal,
): Promise<boolean> {
  const found = await Promise.all(refs.map(({ type, at }) => client.get(type, at, signal).catch(unless(isNotFound))));
  return found.some((object) => object !== undefined && isOfTarget(target)(object));
}

/** The ConfigMap that records what remains in a target that was unpeered by force. */
export function leftBehindRef(
  { target, installNamespace }: Pick<TargetInSource, 'target' | 'installNamespace'>,
): ObjectRef & { readonly at: { readonly namespace: string } } {
  const name = joinName(
    [{ constant: 'isthmus-left-behind' }, target.kind === 'Target' ? target.namespace : '', target.name],
    MAX_NAME_LENGTH,
  );
  return { type: CONFIG_MAPS, at: { namespace: installNamespace, name } };
}

/** Whether a forced command has recorded what remains in that target. */
export async function isLeftBehind(options: TargetInSource, signal: AbortSignal): Promise<boolean> {
  const { type, at } = leftBehindRef(options);
  const found = await options.client.get(type, at, signal).catch(unless(isNotFound));
  return found !== undefined && isOfIsthmus(found);
}

/** Its kind and name, for messages. */
export function refName({ type, at }: ObjectRef): string {
  return objectName(
    { kind: type.kind, metadata: { ...(at.namespace !== undefined && { namespace: at.namespace }), name: at.name } },
  );
}

function secretRefs(target: TargetRef, installNamespace: string, object: ClusterTarget | undefined): readonly {
  readonly namespace: string; readonly name: string
}[] {
  const name = kubeconfigSecretName(target);
  const namespace =
    target.kind === 'Target' ? target.namespace : (object?.spec.kubeconfigSecret?.namespace ?? installNamespace);
  return [{ namespace, name: object?.spec.kubeconfigSecret?.name ?? name }];
}
