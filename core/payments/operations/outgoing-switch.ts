import type { ClientBase, Pool } from 'pg'
import { Fault } from '../../errors.ts'

/** Last change of the switch: paused or resumed, by whom, when and why. */
export interface SwitchState {
  readonly paused: boolean
  readonly author: string
  readonly reason: string
  readonly at: Date
  /** True if no person needs to resume: the pause ends with the next reconciliation. */
  readonly automatic: boolean
}

/** Next step for an automatic pause, such as on a new hub that was never reconciled. */
export const AUTOMATIC_PAUSE_ADVICE =
  'Payments resume by themselves once the ledger is reconciled. For this, a process must run ' +
  'jobs (npm run jobs, or npm start without HUB_JOBS=off), and the node of RPC_URL must respond.'

/**
 * Kill switch for all outgoing payments, effective without a restart because the database checks
 * it. Calls, purchases and refunds continue. Also paused while the last reconciliation is more than
 * ten minutes old, and in a database that was restarted or restored, until a reconciliation passes.
 */
export class OutgoingSwitch {
  readonly #pool: Pool | ClientBase

  constructor(pool: Pool | ClientBase) {
    this.#pool = pool
  }

  /** Reads the state; undefined if the switch was never used and payments are on. */
  async state(): Promise<SwitchState | undefined> {
    const { rows } = await this.#pool.query<SwitchState>(
      `SELECT o.*, o.paused AND NOT coalesce(
         (SELECT paused FROM hub.outgoing_switch ORDER BY id DESC LIMIT 1), false) AS automatic
       FROM hub.outgoing_state o WHERE o.author IS NOT NULL`,
    )
    return rows[0]
  }

  /** Sets the state. Once it returns, every new signature obeys it. */
  async set(paused: boolean, author: string, reason: string): Promise<void> {
    await this.#pool.query('SELECT hub.switch_outgoing($1, $2, $3)', [paused, author, reason])
  }

  /**
   * Pauses until a person resumes, unless the last change was a pause. A pause until the next
   * reconciliation is not enough, because it ends by itself.
   */
  async pause(author: string, reason: string): Promise<void> {
    await this.#pool.query(
      `SELECT hub.switch_outgoing(true, $1, $2) WHERE NOT coalesce(
         (SELECT paused FROM hub.outgoing_switch ORDER BY id DESC LIMIT 1), false)`,
      [author, reason],
    )
  }

  /** @throws Fault `payments_paused` */
  async assertNotPaused(): Promise<void> {
    if ((await this.state())?.paused) throw new Fault('payments_paused')
  }
}
