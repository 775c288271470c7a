import type { ClientBase, Pool } from 'pg'
import { Fault } from '../../errors.ts'

/** Who paused payments to sellers, or let them go on, when and why. */
export interface SwitchState {
  readonly paused: boolean
  readonly author: string
  readonly reason: string
  readonly at: Date
}

/**
 * Stops all payments to sellers, without a restart: the database signs nothing off while it is
 * paused. Calls, purchases and refunds go on. It is paused too while the books were held against
 * the chain more than ten minutes ago, as after a restore from a backup.
 */
export class OutgoingSwitch {
  readonly #pool: Pool | ClientBase

  constructor(pool: Pool | ClientBase) {
    this.#pool = pool
  }

  /** Undefined: it was never touched, and payments go. */
  async state(): Promise<SwitchState | undefined> {
    const { rows } = await this.#pool.query<SwitchState>(
      'SELECT * FROM hub.outgoing_state WHERE author IS NOT NULL',
    )
    return rows[0]
  }

  /** From when it returns, nothing is signed that did not see it. */
  async set(paused: boolean, author: string, reason: string): Promise<void> {
    await this.#pool.query('SELECT hub.switch_outgoing($1, $2, $3)', [paused, author, reason])
  }

  /** @throws Fault `payments_paused` */
  async assertNotPaused(): Promise<void> {
    if ((await this.state())?.paused) throw new Fault('payments_paused')
  }
}
