// What a user of a sandbox must know of its pods before typing anything.

/** Kubelets and containers are simulated, and `exec` is not confined. */
export const SIMULATED = 'Kubelets are simulated: no image is pulled and no container runs. A command of kubectl ' +
  'exec runs on this machine, as you. Pods of Jobs succeed after a second.';
