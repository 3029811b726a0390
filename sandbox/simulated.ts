// What a user of a sandbox must know of its pods before typing anything.

/** Kubelets and containers are simulated, and `exec` is not confined. */
const SIMULATED = 'Kubelets are simulated: no image is pulled and no container runs. kubectl exec runs its ' +
  'command on this machine, as your user. Job pods succeed after a second.';

const REAL = 'Nodes are real: containers run on this machine, from images of the sandbox. docs/sandbox.md lists them.';

/** What kind of nodes a sandbox has, for its user. */
export function nodesAsTheyAre(areReal: boolean): string {
  return areReal ? REAL : SIMULATED;
}
