// What a user of a sandbox must know of its pods before typing anything.

/** Kubelets and containers are simulated, and `exec` is not confined. */
export const SIMULATED = 'Kubelets are simulated: no image is pulled and no container runs. kubectl exec runs its ' +
  'command on this machine, as your user. Job pods succeed after a second.';
