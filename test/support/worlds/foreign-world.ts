// A source and a target, installed and peered, with namespace production: what commands meet there of a user's.
import assert from 'node:assert/strict';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS, NAMESPACES, NODES, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES, SOURCES, TARGETS,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../api/resource-types.ts';
import { installInto } from '../../../cli/install/install.ts';
import { peerClusters } from '../../../cli/join/peer-clusters.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { readClusterId } from '../../../kubernetes/client/cluster-id.ts';
import { isthmusHere } from '../processes/command-in-process.ts';
import { startTestSandbox } from '../processes/stopped-with-process.ts';

/** The install namespace of both clusters. */
export const INSTALL_NAMESPACE = 'isthmus-system';
const signal = AbortSignal.timeout(890_000);
/** For what installs and peers in these tests. */
export const quiet = { tell: () => undefined, signal };

let only: ForeignWorld | undefined;

/** The one world of this kind in the process: files that are run together share it. */
export function foreignWorld(): ForeignWorld {
  only ??= new ForeignWorld();
  return only;
}

/** Two clusters while the suites run; ClusterTarget kept and Target production/kept lead to the second. */
export class ForeignWorld {
  source!: OpenCluster;
  target!: OpenCluster;
  sourceId!: string;
  /** Kubeconfigs of administrators. */
  files!: readonly [source: string, target: string];
  #sandbox: Sandbox | undefined;

  /** Registers start and stop with the process. */
  constructor() {
    before(() => this.#start());
    after(() => this.#stop());
  }

  async #start(): Promise<void> {
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-foreign-'));
    this.#sandbox = await startTestSandbox({ dir, targets: 1, nodes: 0, gpus: 0, audit: false }, signal);
    this.files = this.#sandbox.clusters.map(({ kubeconfigPath }) => kubeconfigPath) as [string, string];
    [this.source, this.target] = (
      await Promise.all(this.files.map((kubeconfigPath) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' })))
    ) as [OpenCluster, OpenCluster];
    for (const { client } of [this.source, this.target]) {
      await installInto(client, { installNamespace: INSTALL_NAMESPACE }, quiet);
      await client.create(NAMESPACES, { metadata: { name: 'production' } });
    }
    this.sourceId = await readClusterId(this.source.client, signal);
    await this.peer({ name: 'kept' });
    await this.peer({ name: 'kept', namespace: 'production' });
  }

  async #stop(): Promise<void> {
    await Promise.all([this.source, this.target].map((cluster) => cluster?.client.transport.close()));
    await this.#sandbox?.stop();
    if (this.#sandbox !== undefined) await rmdir(this.#sandbox.dir); // fails when the sandbox left something in it
  }

  peer(more: { readonly name: string; readonly namespace?: string }): ReturnType<typeof peerClusters> {
    const [source, target] = [{ ...this.source, label: 'source' }, { ...this.target, label: 'target' }];
    return peerClusters({ installNamespace: INSTALL_NAMESPACE, source, target, ...more }, quiet);
  }

  /** As peering names what it makes in the target. */
  named(prefix: string): string {
    return `${prefix}-${this.sourceId.slice(0, 8)}`;
  }

  /** The words of a command in the source. */
  inSource(...words: readonly string[]): readonly string[] {
    return [...words, '--kubeconfig', this.files[0]];
  }

  /**
   * All that is stored in both clusters, with its content. An invitation is made by the test itself, and what the
   * control plane makes or writes by itself comes at any time: it is left out.
   */
  async stored(): Promise<readonly string[]> {
    const lists = await Promise.all([this.source, this.target].flatMap(
      ({ client }, side) =>
        TYPES.map(async (type) => (await client.list(type)).map((object) => `${side} ${contentOf(type, object)}`)),
    ));
    return lists.flat().filter(
      (line) => !/^. \S+ \S*(kube-|system:|isthmus-invitation|extension-|\/default )/.test(line) &&
        !/^. (Node \S*kept|ClusterRole \/(admin|edit|view) )/.test(line),
    ).toSorted();
  }
}

const TYPES: readonly ResourceType[] = [
  SECRETS, CONFIG_MAPS, SERVICES, SERVICE_ACCOUNTS, NAMESPACES, NODES, DEPLOYMENTS,
  ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, CLUSTER_TARGETS, TARGETS, CLUSTER_SOURCES, SOURCES,
  CUSTOM_RESOURCE_DEFINITIONS, VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
];

/** An object without its status and without what controllers of Kubernetes write beside it: notes, taints of nodes. */
function contentOf({ kind }: ResourceType, object: KubernetesObject): string {
  const { metadata, status: _, spec, ...content } = object as KubernetesObject & Record<'status' | 'spec', object>;
  const { namespace = '', name = '', resourceVersion: _version, annotations = {}, ...more } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !/^[^/]*\bkubernetes\.io\//.test(key));
  const asked = kind === 'Node' ? { ...spec, taints: [] } : spec;
  return `${kind} ${namespace}/${name} ${
    JSON.stringify({ ...more, managedFields: [], annotations: kept, spec: asked, ...content })}`;
}

/** A command that must refuse. */
export interface RefusedCommand {
  readonly sentence: string;
  /** What a user has: in the source unless it says otherwise. */
  readonly theirs?: readonly [ResourceType, KubernetesObject, 'target'?][]
    | (() => readonly [ResourceType, KubernetesObject, 'target'?][]);
  readonly words: () => readonly string[] | Promise<readonly string[]>;
  readonly says: RegExp;
}

/** A Secret with a kubeconfig that is none. */
export const secretOfUser = (namespace: string, name: string): [ResourceType, KubernetesObject] =>
  [SECRETS, { metadata: { namespace, name }, data: { config: 'dGhlaXJz' } } as KubernetesObject];

/** A row for each: it fails with its message, and both clusters are as they were. */
export function describeRefused(name: string, world: ForeignWorld, rows: readonly RefusedCommand[]): void {
  const clientFor = (where?: 'target') => (where === 'target' ? world.target : world.source).client;
  describe(name, () => {
    for (const { sentence, theirs = [], words, says } of rows) {
      it(sentence, async () => {
        const objects = typeof theirs === 'function' ? theirs() : theirs;
        for (const [type, object, where] of objects) await clientFor(where).create(type, object, signal);
        try {
          const args = await words();
          const before = await world.stored();
          const { code, stdout, stderr } = await isthmusHere(...args);
          assert.notEqual(code, 0, stdout);
          assert.match(stderr.replaceAll('\n', ' '), says);
          const now = await world.stored();
          assert.deepEqual(now.filter((line) => !before.includes(line)), []);
          assert.deepEqual(before.filter((line) => !now.includes(line)), []);
        } finally {
          for (const [type, { metadata: { namespace, name = '' } }, where] of objects) {
            await clientFor(where).delete(type, { namespace, name }, {}, signal);
          }
        }
      });
    }
  });
}
