// The ClusterRoles of an installation, as tests compare them with what the documentation and the policies say.
import { rbacManifests } from '../../../manifests/objects/rbac.ts';
import type { clusterRole } from '../../../model/access/rbac-objects.ts';

type ClusterRole = ReturnType<typeof clusterRole>;

/** All of them, of sources and targets. */
export function clusterRoles(): readonly ClusterRole[] {
  return rbacManifests('isthmus-system').filter((object): object is ClusterRole => object.kind === 'ClusterRole');
}
