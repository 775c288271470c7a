import committed from './calibration.json' with { type: 'json' }

/** CPU time of a batch in ms: a constant and a part for each operation. */
export interface BatchCosts {
  readonly batchMs: number
  readonly operationMs: number
}

/** Measured load, with which the simulation is compared. */
export interface Measured {
  readonly callers: number
  readonly shards: number
  readonly operationsPerBatch: number
  readonly callsPerSecond: number
  readonly serverMsPerCall: number
  readonly clientMsPerCall: number
}

/** Costs that `npm run bench -- cluster` measures. */
export interface Calibration {
  readonly plain: BatchCosts
  readonly worker: BatchCosts
  /** CPU time of the coordinator for a call whose batches go to it. */
  readonly coordinatorMsPerCall: number
  /** CPU time of the coordinator to store the record of a call. */
  readonly recordMsPerCall: number
  /** Loads of one server, not used to derive its costs. */
  readonly measured: readonly Measured[]
}

export const CALIBRATION: Calibration = committed

/** Derives the costs from the CPU times of batches of two sizes. */
export function costsOf(
  small: { readonly operations: number; readonly ms: number },
  large: { readonly operations: number; readonly ms: number },
): BatchCosts {
  const operationMs = (large.ms - small.ms) / (large.operations - small.operations)
  return { batchMs: small.ms - operationMs * small.operations, operationMs }
}

/** CPU time of a call, whose two operations share batches with others. */
export const msPerCall = ({ batchMs, operationMs }: BatchCosts, operations: number): number =>
  2 * (batchMs / operations + operationMs)
