import type { MoneyOutcome } from './money-outcome.ts'
import { REQUEST_FAULTS } from './request-faults.ts'
import { SERVER_FAULTS } from './server-faults.ts'

/** Expected errors by code. */
export const FAULTS = { ...REQUEST_FAULTS, ...SERVER_FAULTS } as const

export type FaultCode = keyof typeof FAULTS

interface FaultDetails {
  readonly extras?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
  readonly money?: MoneyOutcome | undefined
  readonly charged?: bigint | undefined
  /** Advice that fits this route and caller. @defaultValue that of the table */
  readonly advice?: string | undefined
}

/** Expected failure, safe to show to the caller. Any other thrown error becomes a 500. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly status: number
  /** Additional members of the problem body. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Response headers, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>
  /** State of the money; default: the one that the code implies. */
  readonly money: MoneyOutcome | undefined
  /** Microdollars that the caller has paid although the request failed. */
  readonly charged: bigint
  /** Advice that fits this route and caller better than that of the table. */
  readonly advice: string | undefined

  /**
   * @param detail a sentence for the caller; default: the advice of the table
   * @param more `extras` and `headers` of the response, and the `cause` for the log
   */
  constructor(code: FaultCode, detail?: string, more: FaultDetails = {}) {
    super(detail ?? FAULTS[code][2], { cause: more.cause })
    this.code = code
    this.status = FAULTS[code][0]
    this.extras = more.extras ?? {}
    this.headers = more.headers ?? {}
    this.money = more.money
    this.charged = more.charged ?? 0n
    this.advice = more.advice
  }

  /** Returns a copy with other details. */
  with(more: FaultDetails): Fault {
    const { code, message, extras, headers, cause, money, charged, advice } = this
    return new Fault(code, message, { extras, headers, cause, money, charged, advice, ...more })
  }
}
