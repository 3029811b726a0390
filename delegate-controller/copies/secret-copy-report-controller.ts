// Controller in a target that maintains a SecretCopy for each Secret that a source created, so that the source needs no
// right to read Secrets here (ADR 0024).
import type { Logger } from 'pino';
import type { Secret } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import { SECRET_COPIES, SECRETS } from '../../api/resource-types.ts';
import type { SecretCopy } from '../../api/kinds/secret-copy.ts';
import { ignoreStale, isAlreadyExists } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import {
  planReport, toCopiedSecret, toSecretReport, type CopiedSecret, type SecretReport,
} from './secret-copy-report.ts';

/** What the controller works with. */
export interface CopiedSecretOptions {
  readonly client: ClusterClient;
  readonly logger: Logger;
}

const CONCURRENCY = 4;
/** Requeue delay when the report exists but the watch has not delivered it, in ms. */
const CACHE_LAG_MS = 1_000;

/** Runs until `signal` is aborted. Where the kind is not served, or Secrets may not be listed, nothing is reported. */
export function startCopiedSecrets({ client, logger }: CopiedSecretOptions, signal: AbortSignal): void {
  const secrets = new Informer<Secret, CopiedSecret>(
    { client, logger, type: SECRETS, selection: { labelSelector: PARENT_CLUSTER_LABEL }, project: toCopiedSecret },
  );
  const reports = new Informer<SecretCopy, SecretReport>(
    { client, logger, type: SECRET_COPIES, selection: {}, project: toSecretReport },
  );
  const reconcile = async (key: string): Promise<ReconcileResult> => {
    try {
      await executePlan(client, planReport(key, secrets.get(key), reports.get(key)), signal);
    } catch (error) {
      if (isAlreadyExists(error)) return { kind: 'requeue-after', ms: CACHE_LAG_MS };
      ignoreStale(error);
    }
    return DONE;
  };
  const ready = Promise.all([secrets.synced, reports.synced]);
  const controller =
    startController({ name: 'copied-secret', reconcile, concurrency: CONCURRENCY, logger, ready }, signal);
  for (const informer of [secrets, reports]) informer.onChange((key: string) => controller.enqueue(key));
  void secrets.run(signal);
  void reports.run(signal);
}
