import type { Clock, Database } from 'agenthub/plugin'
import type { EngineErrorReason } from './llm/engine-error.ts'
import type { Spending } from './llm/spending.ts'

/** Outcome and cost of one call with one engine. */
export interface EngineCall {
  readonly callId: string
  readonly endpoint: string
  readonly engine: string
  readonly model: string
  readonly outcome: 'answered' | 'aborted' | EngineErrorReason
  readonly spending: Spending
}

export interface EngineDay {
  readonly engine: string
  readonly day: string
  readonly calls: bigint
  readonly answered: bigint
  readonly input_tokens: bigint
  readonly output_tokens: bigint
  readonly cost_microdollars: bigint
}

/** The platform's record of engine costs. */
export interface Costs {
  /** Records the cost of a call, once. */
  readonly record: (spent: EngineCall) => Promise<void>
  /** Cost of an engine since 00:00 UTC across all processes, in microdollars. */
  readonly today: (engine: string) => Promise<bigint>
  /** Costs by day, the latest first. */
  readonly days: (count: number) => Promise<readonly EngineDay[]>
  /** Deletes call records older than `days`; the daily totals remain. */
  readonly prune: (days: number) => Promise<number>
}

const RECORD_SQL = `
  WITH call AS (
    INSERT INTO engine_call (call_id, engine, at, endpoint, model, outcome, requests, input_tokens,
      output_tokens, estimated, cost_microdollars)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT DO NOTHING
    RETURNING engine, (at AT TIME ZONE 'UTC')::date AS day, outcome, input_tokens, output_tokens,
      cost_microdollars
  )
  INSERT INTO engine_day AS d (engine, day, calls, answered, input_tokens, output_tokens,
    cost_microdollars)
  SELECT engine, day, 1, (outcome = 'answered')::int, input_tokens, output_tokens, cost_microdollars
  FROM call
  ON CONFLICT (engine, day) DO UPDATE SET calls = d.calls + 1,
    answered = d.answered + excluded.answered,
    input_tokens = d.input_tokens + excluded.input_tokens,
    output_tokens = d.output_tokens + excluded.output_tokens,
    cost_microdollars = d.cost_microdollars + excluded.cost_microdollars`

export const costsIn = (database: Database, clock: Clock): Costs => ({
  async record({ callId, endpoint, engine, model, outcome, spending }) {
    const { requests, input, output, estimated, cost } = spending
    const who = [callId, engine, clock.now(), endpoint, model, outcome]
    await database.query(RECORD_SQL, [...who, requests, input, output, estimated, cost])
  },
  async today(engine) {
    const { rows } = await database.query<{ cost: bigint }>(
      `SELECT cost_microdollars AS cost FROM engine_day
       WHERE engine = $1 AND day = ($2::timestamptz AT TIME ZONE 'UTC')::date`,
      [engine, clock.now()],
    )
    return rows[0]?.cost ?? 0n
  },
  async days(count) {
    const { rows } = await database.query<EngineDay>(
      `SELECT engine, day, calls, answered, input_tokens, output_tokens, cost_microdollars
       FROM engine_day
       WHERE day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $1::int
       ORDER BY day DESC, engine`,
      [count, clock.now()],
    )
    return rows
  },
  async prune(days) {
    const { rowCount } = await database.query(
      `DELETE FROM engine_call WHERE at < $1::timestamptz - make_interval(days => $2)`,
      [clock.now(), days],
    )
    return rowCount ?? 0
  },
})
