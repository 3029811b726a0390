// Gathers facts of targets for `isthmus doctor`: their status in the source, the dates in their kubeconfigs, and what
// their API servers show.
import type { ClusterTarget, Target, TargetSpec } from '../../api/kinds/cluster-target.ts';
import { TOKEN_ACCOUNT_ANNOTATION } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, SECRETS, TARGETS } from '../../api/resource-types.ts';
import { within } from '../../kubernetes/flow/abort.ts';
import { isNotFound, isUnauthorized, unless } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import { userAgent } from '../../kubernetes/client/open-cluster.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { tokenLife } from '../../peering/access/credential-renewal.ts';
import { tokenOf } from '../../peering/access/target-access.ts';
import { targetRefOf } from '../../model/naming/target-ref.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import {
  kubeconfigSecretRef, readTargetConnection, type KubeconfigSecretRef,
} from '../../targets/access/target-kubeconfig.ts';
import { certificateDates } from '../checks/certificate-dates.ts';
import type { TargetFacts } from '../checks/doctor-facts.ts';
import { versionOf, type FactReader } from './fact-reader.ts';
import { probeServer } from './server-probe.ts';

/** Timeout of a call to a target in ms. */
const CALL_MS = 5_000;
const NOTHING_KNOWN =
  { token: undefined, isRenewed: false, authorities: [], server: undefined, kubernetes: undefined } as const;

/** All targets of a source, concurrently. */
export async function gatherTargets(reader: FactReader, installNamespace: string): Promise<readonly TargetFacts[]> {
  const [clusterTargets, targets] = await Promise.all([reader.list(CLUSTER_TARGETS), reader.list(TARGETS)]);
  return Promise.all([...clusterTargets, ...targets].map((object) => gatherTarget(reader, object, installNamespace)));
}

async function gatherTarget(
  reader: FactReader, object: ClusterTarget | Target, installNamespace: string,
): Promise<TargetFacts> {
  const facts = { ...NOTHING_KNOWN, name: objectKey(object.metadata), object };
  const secretRef = kubeconfigSecretRef(targetRefOf(object.metadata), object.spec, installNamespace);
  if (secretRef === undefined) return facts; // the cluster itself
  const where = `Secret ${secretRef.namespace}/${secretRef.name}`;
  const secret = await reader.try(
    where,
    reader.client.get(SECRETS, { namespace: secretRef.namespace, name: secretRef.name }, reader.signal)
      .catch(unless(isNotFound)),
  );
  if (secret === undefined) return reader.unread.some(({ what }) => what === where)
    ? facts
    : { ...facts, problem: `its kubeconfig, ${where}, is not there` };
  const data = secret.data?.[secretRef.key];
  if (data === undefined) return { ...facts, problem: `${where} has no key ${secretRef.key}` };
  return {
    ...facts, isRenewed: secret.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION] !== undefined,
    ...(await read(data, { secretRef, gateway: object.spec.gateway }, reader.signal)),
  };
}

async function read(
  data: string,
  { secretRef, gateway }: { readonly secretRef: KubeconfigSecretRef; readonly gateway: TargetSpec['gateway'] },
  signal: AbortSignal,
): Promise<Partial<TargetFacts>> {
  const opened = await readTargetConnection(data, secretRef, { gateway: undefined, endpoints: [] })
    .catch((error: unknown) => ({ error }));
  if ('error' in opened) {
    // only the pods of Isthmus can use it, and say in the target's status how that goes
    const isElsewhere = opened.error instanceof AppError && opened.error.code === 'CredentialsUnavailable';
    return isElsewhere ? {} : { problem: messageOf(opened.error) };
  }
  const life = tokenLife(tokenOf(Buffer.from(data, 'base64').toString('utf8')) ?? '');
  const token = life && { fromMs: life.issuedAt * 1_000, untilMs: life.expiresAt * 1_000 };
  const authorities = certificateDates(opened.certificateAuthority ?? '');
  if (gateway !== undefined) return { token, authorities };
  const [server, version] = await Promise.all([probeServer(opened, signal), askVersion(opened, signal)]);
  return { token, authorities, server, ...version };
}

async function askVersion(
  connection: ClusterConnection, signal: AbortSignal,
): Promise<Pick<TargetFacts, 'kubernetes' | 'isUnauthorized'>> {
  const client = new ClusterClient(new Transport(connection, userAgent('doctor')));
  try {
    return { kubernetes: await within(CALL_MS, signal, (either) => versionOf(client, either)) };
  } catch (error) {
    return { kubernetes: undefined, isUnauthorized: isUnauthorized(error) };
  } finally {
    await client.transport.close();
  }
}
