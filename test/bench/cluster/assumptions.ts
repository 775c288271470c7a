/** Cores of a worker or the coordinator, and the share that is used when it is full. Assumed. */
export const CORES = 16
export const USED = 0.7
/** CPU time of a full machine in a second. */
export const AVAILABLE_MS = CORES * 1_000 * USED

/** Time of a write to a disk, and of one to a standby in another zone. Assumed. */
export const COMMIT_MS = 0.5 + 1

/** Most shards of a ledger: the maximum of HUB_SHARDS. */
export const SHARDS_MAX = 64
/** Most workers, a power of two: so many shards have 39 physical shards. */
export const WORKERS_MAX = 32
