// The one place where planned commands become API calls.
import { PODS } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { messageOf } from '../../process/errors.ts';
import { isNotFound, isRejection } from '../flow/api-error.ts';
import type { ClusterClient } from '../client/cluster-client.ts';

/** What the API server has rejected of a plan. */
export interface Rejected {
  readonly message: string;
  /** Whether the last command is part of it, which records that the others were sent. */
  readonly isLast: boolean;
}

/**
 * Executes a plan in order. A delete of an object that is already gone counts as done.
 * @throws what the failing call threw; later commands were not tried.
 */
export async function executePlan(client: ClusterClient, plan: Plan, signal: AbortSignal): Promise<void> {
  await executeAndRead(client.metadataOnly(), plan, signal);
}

/**
 * The same. Returns the object that the last command wrote, as the API server has stored it, if that command writes
 * one.
 */
export async function executeAndRead(
  client: ClusterClient, plan: Plan, signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  let last: KubernetesObject | undefined;
  for (const command of plan) last = await execute(client, command, signal);
  return last;
}

/**
 * Executes all commands of a plan about one object, also those after one that the API server rejects. Undefined when it
 * rejects none, and when the object is gone.
 * @throws what another failing call threw; later commands were not tried.
 */
export async function executeEach(
  client: ClusterClient, plan: Plan, signal: AbortSignal,
): Promise<Rejected | undefined> {
  const rejections: { readonly command: Command; readonly error: unknown }[] = [];
  let isLast = false;
  for (const command of plan) {
    const error = await execute(client.metadataOnly(), command, signal).then(() => undefined, unlessRejected);
    isLast = error !== undefined;
    if (isLast) rejections.push({ command, error });
  }
  const isGone = rejections.length === plan.length && rejections.every(({ error }) => isNotFound(error));
  if (rejections.length === 0 || isGone) return undefined;
  return { message: rejections.map(({ command, error }) => rejectionText(command, error)).join('; '), isLast };
}

/** An API server that does not serve a subresource says only that it could not find what was requested. */
function rejectionText(command: Command, error: unknown): string {
  if (command.kind !== 'patch' || command.at.subresource === undefined || !isNotFound(error)) return messageOf(error);
  return `its API server does not serve ${command.type.plural}/${command.at.subresource}`;
}

function unlessRejected(error: unknown): unknown {
  if (!isRejection(error)) throw error;
  return error;
}

async function execute(
  client: ClusterClient, command: Command, signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  switch (command.kind) {
    case 'create':
      return client.create(command.type, command.object, signal);
    case 'bind':
      await client.post(
        PODS, { ...command.binding.metadata, name: command.binding.metadata.name ?? '', subresource: 'binding' },
        command.binding, signal,
      );
      return undefined;
    case 'apply':
      return client.apply(command.type, command.object, command.fieldManager, signal);
    case 'patch':
      return client.patch(command.type, command.at, command, signal);
    case 'delete':
      await client.delete(command.type, command.at, command, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return undefined;
  }
}
