// Reconciles exports and imports: publishes this cluster's exports to the others and makes theirs usable here. One
// replica writes; see import-plan.ts and export-plan.ts.
import type { Logger } from 'pino';
import { SERVICE_IMPORTS, type ServiceImport } from '../api/kinds/service-discovery.ts';
import { ignoreLate, ignoreStale } from '../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../kubernetes/controller/controller.ts';
import { executeEach, executePlan } from '../kubernetes/controller/execute-plan.ts';
import type { ClustersetState, KnownExport } from './clusterset-state.ts';
import { exportConditions } from './exports/export-conditions.ts';
import { planConditions, planExportedService, sharing } from './exports/export-plan.ts';
import { toExport, type Export } from './exports/exported-service.ts';
import { isImported, toImportObjects, type ImportView } from './imports/import-objects.ts';
import { importStatus, planImport } from './imports/import-plan.ts';
import { planRequestedExport } from './exports/annotated-export.ts';
import { splitKey } from '../model/pod/pod.ts';

/** Dependencies of the controller. */
export interface ServicesOptions {
  /** Fenced: only one replica writes. */
  readonly client: ClusterClient;
  readonly state: ClustersetState;
  /** Export the Services that follow elected pods, and their copies. */
  readonly exportsFollowedServices: boolean;
  readonly logger: Logger;
}

const CONCURRENCY = 8;

/** Starts both sides once all informers have synced. */
export function startServices(
  { client, state, exportsFollowedServices, logger }: ServicesOptions, signal: AbortSignal,
): void {
  const services = new Services(client, state, exportsFollowedServices);
  const ready = state.synced();
  const controllers = [
    startController(
      { name: 'exports', reconcile: (key) => services.export(key, signal), concurrency: CONCURRENCY, logger, ready },
      signal,
    ),
    startController(
      { name: 'imports', reconcile: (key) => services.import(key, signal), concurrency: CONCURRENCY, logger, ready },
      signal,
    ),
  ];
  state.onChange((key) => controllers.forEach((controller) => controller.enqueue(key)));
}

class Services {
  readonly #client: ClusterClient;
  readonly #state: ClustersetState;
  readonly #exportsFollowedServices: boolean;

  constructor(client: ClusterClient, state: ClustersetState, exportsFollowedServices: boolean) {
    this.#client = client;
    this.#state = state;
    this.#exportsFollowedServices = exportsFollowedServices;
  }

  /**
   * Publishes first: a namespace that is being deleted takes no requested export, and its exports end nevertheless. So
   * does an export that cannot be published, when it is requested no more.
   */
  async export(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const known = this.#state.exportOf(key);
    try {
      await this.#publish(key, known, signal);
    } finally {
      const requested = planRequestedExport(known.service, known.serviceExport, this.#exportsFollowedServices);
      await executePlan(this.#client, requested, signal).catch(ignoreLate);
    }
    return DONE;
  }

  async #publish(
    key: string, { serviceExport, service, slices, stored, former }: KnownExport, signal: AbortSignal,
  ): Promise<void> {
    const { clusterId, memberId, installNamespace } = this.#state;
    const outdated = former.flatMap((one) => planExportedService(undefined, one));
    await executePlan(this.#client, outdated, signal).catch(ignoreStale);
    if (serviceExport === undefined && stored === undefined) return;
    const exported: Export | undefined = serviceExport
      && toExport({ clusterId: clusterId ?? '', installNamespace, serviceExport, service, slices });
    if (clusterId !== undefined) {
      await executePlan(this.#client, planExportedService(exported, stored), signal).catch(ignoreStale);
    }
    if (serviceExport === undefined || exported === undefined) return;
    const { merged } = this.#state.view(key) ?? {};
    const state = {
      clusterId: clusterId ?? '', exported, ...sharing(memberId, stored), merged,
      generation: serviceExport.metadata.generation, ranges: this.#state.ownRanges,
    };
    const conditions = exportConditions(serviceExport.status?.conditions, state, new Date().toISOString());
    await executePlan(this.#client, planConditions(serviceExport, conditions), signal).catch(ignoreStale);
  }

  async import(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (!this.#state.hasNamespace(splitKey(key).namespace)) return DONE; // deleted along with the namespace
    const view = this.#state.view(key);
    if (!this.#state.knowsItself) return DONE; // an import that is made again has another address
    const existing = this.#state.existing(key);
    const plan = planImport(view && toImportObjects(view), existing);
    const rejected = await executeEach(this.#client, plan, signal).catch(ignoreStale);
    if (view !== undefined && existing.serviceImport !== undefined) {
      await this.#writeStatus(existing.serviceImport, view, rejected?.message, signal);
    }
    if (rejected !== undefined) throw new Error(rejected.message); // logged, and tried again
    return DONE;
  }

  async #writeStatus(
    serviceImport: ServiceImport, { merged, ips }: ImportView, rejected: string | undefined, signal: AbortSignal,
  ): Promise<void> {
    if (!isImported(serviceImport)) return;
    const status = importStatus(serviceImport.status, merged, { ips, rejected }, new Date().toISOString());
    if (status === serviceImport.status) return;
    const { namespace, name = '', uid } = serviceImport.metadata;
    await this.#client.patch(
      SERVICE_IMPORTS, { namespace, name, subresource: 'status' },
      { patchType: 'merge', patch: { metadata: { uid }, status } }, signal,
    ).catch(ignoreStale);
  }
}
