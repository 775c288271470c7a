import type { ClientBase, Pool } from 'pg'
import type { Party } from './document.ts'

const COLUMNS = 'legal_name, email, address, country, registration, tax_id'

/** Reads the billing details of the first of these principals that has any. */
export async function findBillingParty(
  client: Pool | ClientBase,
  principals: readonly string[],
): Promise<Party | undefined> {
  const { rows } = await client.query<Party>(
    `SELECT ${COLUMNS} FROM hub.billing_party WHERE principal = ANY ($1)
     ORDER BY array_position($1, principal) LIMIT 1`,
    [principals],
  )
  return rows[0]
}

/** Stores the billing details of a principal. Documents that were issued keep theirs. */
export async function saveBillingParty(pool: Pool, principal: string, party: Party): Promise<void> {
  await pool.query(
    `INSERT INTO hub.billing_party (principal, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (principal) DO UPDATE SET legal_name = $2, email = $3, address = $4,
       country = $5, registration = $6, tax_id = $7, changed_at = now()`,
    [
      principal,
      party.legal_name,
      party.email,
      party.address,
      party.country,
      party.registration,
      party.tax_id,
    ],
  )
}
