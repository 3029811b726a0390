// Pods for attacks: harmless ones that meet the strictest policy, evil ones, and what of a delegate tells them apart.
import type { RawApiClient } from '../../support/attackers/raw-api-client.ts';
import { stopped, through, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { ELECT, path, said, type Thing } from './clusters.ts';

const CONTEXT = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Labels of a namespace whose pods may be elected and must be harmless. */
export const RESTRICTED = { 'multicluster-scheduler': 'enabled', 'pod-security.kubernetes.io/enforce': 'restricted' };

/** Meets the Pod Security Standard `restricted`. */
export function harmless(cpu = '1m'): object {
  return {
    containers: [
      {
        name: 'main',
        image: 'example/harmless:1',
        securityContext: CONTEXT,
        resources: { requests: { cpu }, limits: { cpu } },
      },
    ],
  };
}

/** Meets none: the whole host is its own. */
export function evil(more: object = {}): object {
  const containers = [{ name: 'main', image: 'example/evil:1', securityContext: { privileged: true } }];
  return { hostPID: true, containers, volumes: [{ name: 'host', hostPath: { path: '/' } }], ...more };
}

/** Elects a pod in this namespace. */
export function elected(metadata: object, spec: object, annotations: object = {}): object {
  return { metadata: { ...metadata, annotations: { ...ELECT, ...annotations } }, spec };
}

/** Makes a pod as somebody; `query` as in `?dryRun=All`. Throws for a refusal, with what was said. */
export function makePod(client: RawApiClient, namespace: string, pod: object, query = ''): Promise<Thing> {
  return client.json<Thing>({ method: 'POST', path: `${path('api/v1', 'pods', namespace)}${query}`, body: pod });
}

/** What a pod asks for that a harmless one does not; empty for that. */
export function powersOf({ spec }: Thing): readonly string[] {
  const { containers, volumes, serviceAccountName = 'default', ...fields } = spec as {
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly volumes?: readonly Readonly<Record<string, unknown>>[];
    readonly serviceAccountName?: string;
  };
  return [
    ...(serviceAccountName === 'default' ? [] : [`account ${serviceAccountName}`]),
    ...['hostPID', 'hostNetwork', 'hostIPC'].filter(
      (field) => (fields as Readonly<Record<string, unknown>>)[field] === true,
    ),
    ...(containers.some(
      ({ securityContext }) => (securityContext as { readonly privileged?: boolean } | undefined)?.privileged === true,
    )
      ? ['privileged']
      : []),
    ...((volumes ?? []).some((volume) => volume['hostPath'] !== undefined) ? ['hostPath'] : []),
  ];
}

/** Whether the delegate of a harmless proxy is an evil pod. */
export async function judgeDelegate(attacked: Attacked, proxy: Thing): Promise<Outcome> {
  const powers = powersOf(await attacked.delegateOf(proxy));
  return powers.length === 0
    ? stopped('the delegate is as harmless as its proxy')
    : through(`its delegate has ${powers.join(', ')}`);
}

/** What was said by what decides about requests, forbidden or not valid; undefined for a fault of the attack. */
function refusalOf(error: unknown): string | undefined {
  const [, status, text = ''] =
    /: (403|422) ([\s\S]*)$/.exec(error instanceof Error ? error.message : String(error)) ?? [];
  return status === undefined ? undefined : said({ status: Number(status), text });
}

/** Makes an attack whose refusal means that it was stopped. */
export async function unlessRefused(attempt: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return stopped(refusal);
  }
}
