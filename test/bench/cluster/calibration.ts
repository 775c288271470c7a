import { BATCH_MAX } from '../../../core/ledger/batch.ts'
import { COMMIT_MS } from './assumptions.ts'
import committed from './calibration.json' with { type: 'json' }

/** CPU time of a batch in ms: a constant and a part for each operation. */
export interface BatchCosts {
  readonly batchMs: number
  readonly operationMs: number
}

/** Measured load, with which the simulation is compared. */
export interface Measured {
  /** Costs of its batches: those of one server, or of workers. */
  readonly server: 'plain' | 'worker'
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
  /** Mean size of the largest measured batches of workers. */
  readonly operationsPerBatch: number
  /** CPU time of the coordinator for a call whose batches go to it. */
  readonly coordinatorMsPerCall: number
  /** CPU time of the coordinator to store the record of a call. */
  readonly recordMsPerCall: number
  /** Longest call while shards moved under load. */
  readonly moveMs: number
  /** Loads between those from which the costs are derived. */
  readonly measured: readonly Measured[]
}

export const CALIBRATION: Calibration = committed as Calibration

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

/** Most calls per second of a shard, which posts one batch at a time, by the largest batches. */
export const shardCallsMax = ({ batchMs, operationMs }: BatchCosts): number =>
  (1_000 * BATCH_MAX) / (batchMs + operationMs * BATCH_MAX + COMMIT_MS) / 2
