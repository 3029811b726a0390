// Whether a kind is served here, and in which version: its CustomResourceDefinition, followed by name. So a kind is
// watched from the moment that its CRD is there, and nothing is asked of one that is not.
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer, type ConnectionState } from '../../kubernetes/watch/informer.ts';
import type { RegistryKind } from '../entry/registry.ts';

/** `apiextensions.k8s.io/v1` CustomResourceDefinition without its schemas. */
interface Definition extends KubernetesObject {
  readonly spec?: { readonly versions?: readonly { readonly name: string; readonly served: boolean }[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null
  };
}

const DEFINITIONS = CUSTOM_RESOURCE_DEFINITIONS as ResourceType<Definition>;

/** What is known of a kind. */
export type Serving =
  | { readonly kind: 'unknown'; readonly connection: ConnectionState }
  | { readonly kind: 'not-served' }
  | { readonly kind: 'served'; readonly type: ResourceType };

/** The served version that is preferred; undefined when none of those whose fields are known is. */
export function servedVersion(kind: RegistryKind, definition: Definition | undefined): string | undefined {
  const conditions = definition?.status?.conditions ?? []; // null at first
  if (!conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined;
  const served = new Set((definition?.spec?.versions ?? []).filter(({ served }) => served).map(({ name }) => name));
  return kind.versions.find((version) => served.has(version));
}

/** Follows one kind. */
export class ServedKind {
  readonly kind: RegistryKind;
  readonly #definitions: Informer<Definition, Definition>;

  constructor({ client, logger }: { readonly client: ClusterClient; readonly logger: Logger }, kind: RegistryKind) {
    this.kind = kind;
    this.#definitions = new Informer<Definition, Definition>({
      client, logger, type: DEFINITIONS, selection: { fieldSelector: `metadata.name=${this.name}` },
      project: (object) => object,
      fields: {
        spec: { versions: { name: true, served: true } }, status: { conditions: { type: true, status: true } },
      },
    });
  }

  /** Name of its CustomResourceDefinition. */
  get name(): string {
    return `${this.kind.plural}.${this.kind.group}`;
  }

  /** Follows it until `signal` is aborted; `changed` is called when {@link serving} may have changed. */
  async run(changed: () => void, signal: AbortSignal): Promise<void> {
    this.#definitions.onChange(changed);
    this.#definitions.onListed(changed);
    this.#definitions.onConnection(changed);
    await this.#definitions.run(signal);
  }

  /** Whether it is served. */
  get serving(): Serving {
    const { hasSynced, connection } = this.#definitions;
    if (!hasSynced) return { kind: 'unknown', connection };
    const version = servedVersion(this.kind, this.#definitions.get(this.name));
    if (version === undefined) return { kind: 'not-served' };
    const { group, plural, kind, namespaced } = this.kind;
    return { kind: 'served', type: { group, version, plural, kind, namespaced } };
  }

  /** Whether its definition is being watched now. */
  get isWatched(): boolean {
    return this.#definitions.connection.kind === 'open';
  }
}
