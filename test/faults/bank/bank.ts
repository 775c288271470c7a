import type { LedgerOutcome } from '../../../core/ledger/events.ts'

/** One operation of a caller; the same id repeats the same operation. */
export interface Step {
  readonly what: 'fund' | 'reserve' | 'settle' | 'release'
  /** UUID version 7, shared by the steps of a call. */
  readonly id: string
  /** Number of the paying agent. */
  readonly agent: number
  /** Amount funded, reserved or charged, in microdollars; 0 for a release. */
  readonly amount: bigint
  /** Lifetime of the hold (reserve only). */
  readonly ttlSeconds: number
}

/** Bank under test: the real ledger, or a bank with a planted bug. */
export interface Bank {
  fund(step: Step): Promise<LedgerOutcome>
  reserve(step: Step): Promise<LedgerOutcome>
  settle(step: Step): Promise<LedgerOutcome>
  release(step: Step): Promise<LedgerOutcome>
  /** Releases expired holds. Returns the number of holds still open. */
  expire(): Promise<bigint>
  /** Returns all entries and balances. */
  audit(): Promise<BankState>
  close(): Promise<void>
}

/** Entry posted by the bank. */
export interface Entry {
  readonly what: Step['what'] | 'expire'
  readonly id: string
  readonly agent: number
  /** Amount of the step; 0 for an expired hold. */
  readonly amount: bigint
}

export interface BankState {
  /** Those of the ledger are in the order in which each shard posted them. */
  readonly entries: readonly Entry[]
  /** Balances by agent number. */
  readonly agents: readonly bigint[]
  readonly holds: bigint
  readonly providers: bigint
  readonly commission: bigint
  /** Errors found by the bank's own verification. */
  readonly findings: readonly string[]
}

/** Responses to one step over all attempts. */
export interface StepRecord {
  readonly step: Step
  /** Number of attempts with outcome `applied`. */
  applied: number
  /** Number of attempts with outcome `replayed`. */
  replayed: number
  /** Outcomes that refused the step. */
  readonly refused: LedgerOutcome[]
  /** Number of attempts without a response. */
  lost: number
}

/** Commission on charges, in basis points. */
export const BPS = 1_000

export const isDone = ({ applied, replayed }: StepRecord): boolean => applied + replayed > 0
