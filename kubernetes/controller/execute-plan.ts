// The one place where planned commands become API calls.
import { PODS } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';
import { isNotFound } from '../flow/api-error.ts';
import type { ClusterClient } from '../client/cluster-client.ts';

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
