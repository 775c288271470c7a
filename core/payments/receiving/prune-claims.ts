import type { Pool } from 'pg'

/** Reads only released claims, by an index of their own. */
export const PRUNE_CLAIMS = `
  DELETE FROM hub.payment_claim
  WHERE state = 'released' AND valid_before < now() - interval '1 day'`

/** Deletes claims of payments that were not settled and have expired. */
export const pruneClaims = (pool: Pool): Promise<unknown> => pool.query(PRUNE_CLAIMS)
