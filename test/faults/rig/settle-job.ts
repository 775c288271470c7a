/** Progress messages of a settle worker, in this order. */
export type WorkerMessage = 'ready' | 'found open' | 'found settled' | 'applied' | 'replayed'

export interface SettleJob {
  readonly call: string
  /** Account code. */
  readonly owner: string
  /** Charge in microdollars. */
  readonly charged: number
}

export const QUEUE = 'settle'
export const EXPIRE_SECONDS = 3
export const SUPERVISE_SECONDS = 1
