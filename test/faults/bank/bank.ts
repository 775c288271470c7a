import type { LedgerOutcome } from '../../../core/ledger/events.ts'

/** One thing that a caller asks of a bank; the same id again asks for the same thing again. */
export interface Step {
  readonly what: 'fund' | 'reserve' | 'settle' | 'release'
  /** UUID version 7; a call's steps share it. */
  readonly id: string
  /** Number of the agent that pays. */
  readonly agent: number
  /** In microdollars: paid in, held or charged; 0 for a release. */
  readonly amount: bigint
  /** Life of the hold (reserve). */
  readonly ttlSeconds: number
}

/** A bank under test: the true ledger, or one with a bug planted in it. */
export interface Bank {
  fund(step: Step): Promise<LedgerOutcome>
  reserve(step: Step): Promise<LedgerOutcome>
  settle(step: Step): Promise<LedgerOutcome>
  release(step: Step): Promise<LedgerOutcome>
  /** Gives back the holds whose time is up; answers how many are open after that. */
  expire(): Promise<bigint>
  /** All that is in its books. */
  audit(): Promise<Books>
  close(): Promise<void>
}

/** Something that was booked. */
export interface Entry {
  readonly what: Step['what'] | 'expire'
  readonly id: string
  readonly agent: number
  /** As in a step; 0 for an expired hold. */
  readonly amount: bigint
}

export interface Books {
  readonly entries: readonly Entry[]
  /** Balances, by the number of the agent. */
  readonly agents: readonly bigint[]
  readonly holds: bigint
  readonly providers: bigint
  readonly commission: bigint
  /** What the bank finds wrong with its own books. */
  readonly findings: readonly string[]
}

/** What was said to a caller about one step, over all of its tries. */
export interface Told {
  readonly step: Step
  /** How many tries were answered `applied`. */
  applied: number
  /** How many were answered `replayed`. */
  replayed: number
  /** Answers by which it was refused. */
  readonly refused: LedgerOutcome[]
  /** How many tries ended without an answer. */
  lost: number
}

/** Commission on what is charged, in basis points. */
export const BPS = 1_000

export const isDone = ({ applied, replayed }: Told): boolean => applied + replayed > 0
