// Follows one registry: its kinds as far as they are served, and its Secrets, in the namespaces that the
// TargetDiscovery names. What it has read is handed to the registry's pure reader.
import type { Logger } from 'pino';
import type { RegistryChoice } from '../../api/registry/registry-choice.ts';
import { ALL_NAMESPACES, type TargetDiscoverySpec } from '../../api/registry/target-discovery.ts';
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { SECRETS } from '../../api/resource-types.ts';
import { formatSelector, matchesLabelSelector } from '../../model/objects/label-selector.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';
import { messageOf } from '../../process/errors.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import { isForbidden } from '../../kubernetes/flow/api-error.ts';
import { Informer, type ConnectionState } from '../../kubernetes/watch/informer.ts';
import { boundedEntry } from '../entry/bounded-entry.ts';
import type { DnsService } from '../entry/dns-service.ts';
import type { RegistryReading } from '../entry/registry-reading.ts';
import type { Registry, SecretLookup } from '../entry/registry.ts';
import { DnsServices } from './dns-services.ts';
import { NamedSecrets } from './secret-follower.ts';
import { ServedKind } from './served-kind.ts';

/** What to follow. */
export interface FollowedRegistry {
  readonly registry: Registry;
  readonly spec: Pick<TargetDiscoverySpec, 'from' | 'namespaces' | 'selector'>;
}

/** Dependencies. */
export interface FollowerOptions {
  readonly client: ClusterClient;
  readonly logger: Logger;
  /** Called when {@link RegistryFollower.reading} may have changed. */
  readonly changed: () => void;
}

type AnyInformer = Informer<KubernetesObject, KubernetesObject>;

interface FollowedKind {
  readonly version: string;
  readonly informers: readonly AnyInformer[];
  readonly stop: AbortController;
}

/** Follows one registry until it is stopped. */
export class RegistryFollower {
  readonly #options: FollowerOptions;
  readonly #registry: Registry;
  readonly #spec: FollowedRegistry['spec'];
  readonly #kinds: readonly ServedKind[];
  readonly #followed = new Map<string, FollowedKind>();
  readonly #selected: readonly Informer<Secret, Secret>[];
  readonly #named: NamedSecrets;
  readonly #services: DnsServices | undefined;
  readonly #stopped = new AbortController();
  #approved: ReadonlySet<string> = new Set();

  constructor(options: FollowerOptions, { registry, spec }: FollowedRegistry) {
    this.#options = options;
    this.#registry = registry;
    this.#spec = spec;
    this.#kinds = registry.kinds.map((kind) => new ServedKind(options, kind));
    this.#selected = registry.secretSelector === undefined ? [] : this.#secretInformers(registry.secretSelector);
    this.#named = new NamedSecrets(options, options.changed);
    const dns = registry.domain?.(spec.from);
    this.#services = dns && new DnsServices(dns);
    this.#start();
  }

  /** Names of hints that an administrator has approved: of no others are Secrets read. */
  approve(names: readonly string[]): void {
    this.#approved = new Set(names);
    if (this.#services !== undefined) this.#wantSecrets();
  }

  /** Ends all watches. */
  stop(): void {
    this.#stopped.abort();
  }

  /** The entries now. */
  reading(): RegistryReading {
    const problem =
      this.#kindsProblem() ?? firstProblem([...this.#informers(), ...this.#selected]) ?? this.#servicesProblem();
    if (problem !== undefined) return problem;
    const from: RegistryChoice = this.#spec.from;
    const { selector = {} } = this.#spec;
    const secrets = this.#selected.flatMap((informer) => [...informer.records()]);
    const read = this.#registry.read(
      {
        objects: this.#objects(), services: this.#announced(), namespace: this.#spec.namespaces?.[0], secrets,
        secret: (ref) => this.#lookup(ref),
      }, from,
    );
    return {
      kind: 'read', isComplete: this.#isComplete(), areHints: this.#services !== undefined,
      clusters: read.filter(({ labels }) => matchesLabelSelector(selector, labels)).map(boundedEntry),
    };
  }

  #start(): void {
    const { signal } = this.#stopped;
    for (const served of this.#kinds) void served.run(() => this.#look(served), signal);
    for (const informer of this.#selected) this.#run(informer, signal);
    void this.#services?.run(() => {
      this.#wantSecrets();
      this.#options.changed();
    }, signal);
  }

  /** Starts and stops watching a kind as it is served. */
  #look(served: ServedKind): void {
    const { serving, kind: { plural } } = served;
    const followed = this.#followed.get(plural);
    if (serving.kind !== 'unknown') {
      const version = serving.kind === 'served' ? serving.type.version : undefined;
      if (followed !== undefined && followed.version !== version) {
        followed.stop.abort();
        this.#followed.delete(plural);
      }
      if (serving.kind === 'served' && !this.#followed.has(plural)) this.#follow(serving.type);
      if (!this.#followed.has(plural)) this.#wantSecrets(); // nothing names them any more
    }
    this.#options.changed();
  }

  #follow(type: ResourceType): void {
    const stop = new AbortController();
    const { client, logger } = this.#options;
    const informers = this.#namespaces(type.namespaced).map((namespace) =>
      new Informer({ client, logger, type, selection: { namespace }, project: (object: KubernetesObject) => object }));
    this.#followed.set(type.plural, { version: type.version, informers, stop });
    forwardAbort([this.#stopped.signal], stop);
    for (const informer of informers) {
      informer.onChange(() => this.#wantSecrets());
      this.#run(informer, stop.signal);
    }
  }

  #run(informer: AnyInformer | Informer<Secret, Secret>, signal: AbortSignal): void {
    const { changed } = this.#options;
    informer.onChange(changed);
    informer.onListed(changed);
    informer.onConnection(changed);
    void informer.run(signal);
  }

  #wantSecrets(): void {
    const { namedSecrets = () => [], namedService } = this.#registry;
    const [namespace = ''] = this.#spec.namespaces ?? [];
    const names = [...this.#objects().values()].flat().flatMap((object) => namedSecrets(object, this.#spec.from));
    const ofServices = this.#announced().filter(({ name }) => this.#approved.has(name))
      .flatMap((service) => namedService?.(service, namespace) ?? []);
    this.#named.want([...names, ...ofServices], this.#stopped.signal);
  }

  #announced(): readonly DnsService[] {
    const reading = this.#services?.reading;
    return reading?.kind === 'read' ? reading.services : [];
  }

  #servicesProblem(): RegistryReading | undefined {
    const reading = this.#services?.reading;
    if (reading === undefined || reading.kind === 'read') return undefined;
    return reading.kind === 'reading'
      ? { kind: 'unread', reason: 'Reading', message: 'DNS is being asked' }
      : { kind: 'unread', reason: 'Unreadable', message: reading.message };
  }

  #lookup(ref: NamespacedName): SecretLookup {
    const { namedSecrets, namedService } = this.#registry;
    if ((namedSecrets ?? namedService) !== undefined) return this.#named.lookup(ref);
    for (const informer of this.#selected) {
      const secret = informer.get(`${ref.namespace}/${ref.name}`);
      if (secret !== undefined) return { kind: 'found', secret };
    }
    return { kind: 'missing' };
  }

  #objects(): ReadonlyMap<string, readonly KubernetesObject[]> {
    return new Map([...this.#followed].map(([plural, { informers }]) =>
      [plural, informers.flatMap((informer) => [...informer.records()])]));
  }

  #informers(): readonly AnyInformer[] {
    return [...this.#followed.values()].flatMap(({ informers }) => informers);
  }

  #isComplete(): boolean {
    const informers = [...this.#informers(), ...this.#selected];
    const announced = this.#services?.reading;
    return informers.every(({ connection }) => connection.kind === 'open')
      && this.#kinds.every(({ isWatched }) => isWatched)
      && !(announced?.kind === 'read' && announced.isStale === true);
  }

  #kindsProblem(): RegistryReading | undefined {
    const missing: string[] = [];
    for (const { serving, name } of this.#kinds) {
      if (serving.kind === 'unknown') return unread(serving.connection, `CustomResourceDefinition ${name}`);
      if (serving.kind === 'not-served') missing.push(name);
    }
    const isEnough = missing.length === 0 || (this.#registry.needsAnyKind && missing.length < this.#kinds.length);
    if (isEnough) return undefined;
    return {
      kind: 'unread', reason: 'NotServed',
      message:
        `${missing.join(' and ')} is not served here in a version that is known; it is picked up once it is installed`,
    };
  }

  #secretInformers(usual: string): readonly Informer<Secret, Secret>[] {
    const { client, logger } = this.#options;
    const { keepsSecret = () => true } = this.#registry;
    const { selector, from } = this.#spec;
    const labelSelector = from.kubeconfigSecrets === undefined || selector === undefined
      ? usual
      : formatSelector(selector).replace(/^everything$/, '');
    return this.#namespaces(true).map((namespace) => new Informer<Secret, Secret>({
      client, logger, type: SECRETS, selection: { namespace, labelSelector },
      project: (secret) => (keepsSecret(secret) ? secret : undefined),
    }));
  }

  /** The namespaces to watch; undefined stands for all. */
  #namespaces(namespaced: boolean): readonly (string | undefined)[] {
    const { namespaces = [ALL_NAMESPACES] } = this.#spec;
    return !namespaced || namespaces.includes(ALL_NAMESPACES) ? [undefined] : namespaces;
  }
}

type Followable = Pick<AnyInformer, 'hasSynced' | 'connection'>;

function firstProblem(informers: readonly Followable[]): RegistryReading | undefined {
  const waiting = informers.find(({ hasSynced }) => !hasSynced);
  return waiting && unread(waiting.connection, 'the registry');
}

function unread(connection: ConnectionState, what: string): RegistryReading {
  if (connection.kind !== 'broken') return { kind: 'unread', reason: 'Reading', message: `${what} is being read` };
  const { error } = connection;
  return isForbidden(error)
    ? {
      kind: 'unread', reason: 'Forbidden',
      message:
        `${messageOf(error)}; bind ClusterRole isthmus-registry-secret-reader in the registry's namespace, see ` +
          'docs/discovery.md',
    }
    : { kind: 'unread', reason: 'Unreadable', message: `${what} cannot be read: ${messageOf(error)}` };
}
