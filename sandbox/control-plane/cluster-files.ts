// Writes the startup files of a cluster's programs: certificates, kubeconfigs, kwok's configuration, the audit policy.
// All are readable by their owner only.
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createAuthority, createSigningKey, type KeyPair } from '../../process/crypto/certificate-authority.ts';
import { clusterFile, serverUrl, type ClusterPlan } from '../plan/cluster-plan.ts';
import { certificateRequests } from '../plan/component-arguments.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { auditPolicy, containerLog, containerLogFile, kwokConfiguration } from '../plan/kwok-configuration.ts';

/** What the starter of a cluster keeps in hand of the files it wrote. */
export interface ClusterCredentials {
  /** PEM of the cluster's certificate authority. */
  readonly authority: string;
  readonly admin: KeyPair;
  /** The text of the admin kubeconfig. */
  readonly kubeconfig: string;
  /** The certificate of servers on this machine that are no API server. */
  readonly localServer: KeyPair;
  /** The container name under which kwok runs commands. */
  readonly execContainer: string;
}

const days = 365;

function write(path: string, text: string): Promise<void> {
  return writeFile(path, text, { mode: 0o600 });
}

async function writePair(plan: ClusterPlan, name: string, pair: KeyPair): Promise<void> {
  await write(clusterFile(plan, 'pki', `${name}.crt`), pair.certificate);
  await write(clusterFile(plan, 'pki', `${name}.key`), pair.key);
}

/**
 * Aggregated API servers trust another authority than clients do, so that a client certificate never passes for a
 * proxy's.
 */
async function writeFrontProxy(plan: ClusterPlan, now: Date): Promise<void> {
  const authority = await createAuthority('front-proxy-ca', days, now);
  await writePair(plan, 'front-proxy-ca', authority.keyPair);
  await writePair(plan, 'front-proxy-client', await authority.issue(
    { commonName: 'front-proxy-client', usages: ['client'], days }, now,
  ));
}

async function writeServiceAccountKey(plan: ClusterPlan): Promise<void> {
  const { privateKey, publicKey } = await createSigningKey();
  await write(clusterFile(plan, 'pki', 'service-account.key'), privateKey);
  await write(clusterFile(plan, 'pki', 'service-account.pub'), publicKey);
}

async function issueAll(
  plan: ClusterPlan, now: Date,
): Promise<{ readonly authority: string; readonly issued: ReadonlyMap<string, KeyPair> }> {
  const authority = await createAuthority(`${plan.name}-ca`, days, now);
  await writePair(plan, 'ca', authority.keyPair);
  const issued = new Map<string, KeyPair>();
  for (const [name, wanted] of Object.entries(certificateRequests(plan))) {
    const pair = await authority.issue(wanted, now);
    issued.set(name, pair);
    await writePair(plan, name, pair);
  }
  return { authority: authority.keyPair.certificate, issued };
}

/** The users of a cluster's real nodes, by the names of their certificates. */
function nodeUsers({ realNetwork }: ClusterPlan): readonly string[] {
  const names = (realNetwork?.nodes ?? []).map(({ name }) => name);
  return names.length === 0 ? [] : [...names, 'kube-proxy'];
}

/** Writes every file of a cluster, with certificates valid from `now`; the folder of the sandbox exists. */
export async function writeClusterFiles(plan: ClusterPlan, now: Date): Promise<ClusterCredentials> {
  await mkdir(clusterFile(plan, 'pki'), { recursive: true, mode: 0o700 });
  await mkdir(clusterFile(plan, 'etcd'), { mode: 0o700 });
  const { authority, issued } = await issueAll(plan, now);
  const pairOf = (name: string): KeyPair => {
    const pair = issued.get(name);
    if (pair === undefined) throw new RangeError(`No certificate ${name}`);
    return pair;
  };
  const kubeconfigFor = (name: string, user: string): string =>
    kubeconfigText({ name: plan.name, user, server: serverUrl(plan), authority, client: pairOf(name) });
  const kubeconfig = kubeconfigFor('admin', `${plan.name}-admin`);
  const execContainer = randomBytes(24).toString('hex');
  await Promise.all([
    writeFrontProxy(plan, now),
    writeServiceAccountKey(plan),
    write(plan.kubeconfigPath, kubeconfig),
    ...['kube-controller-manager', 'kube-scheduler', 'kwok', ...nodeUsers(plan)].map((name) =>
      write(clusterFile(plan, `${name}.kubeconfig`), kubeconfigFor(name, name)),
    ),
    write(clusterFile(plan, 'kwok.yaml'), kwokConfiguration(plan, execContainer)),
    write(clusterFile(plan, containerLogFile), containerLog(plan.name, now)),
    write(clusterFile(plan, 'audit-policy.yaml'), auditPolicy()),
  ]);
  return { authority, admin: pairOf('admin'), kubeconfig, localServer: pairOf('local-server'), execContainer };
}
