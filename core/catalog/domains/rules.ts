import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { PageRule } from '../../plugin/pages.ts'

/** SQL for the rules of a domain as JSON, with amounts as strings. */
export const RULES_JSON = `(SELECT coalesce(json_agg(json_build_object('pattern', r.pattern,
    'agents', r.agents, 'allow', r.allow, 'price', r.price::text,
    'cachedPrice', r.cached_price::text, 'maxAgeSeconds', r.max_age_seconds,
    'previewCharacters', r.preview_characters, 'waitFor', r.wait_for,
    'exclude', r.exclude, 'fast', r.fast) ORDER BY r.position), '[]')
  FROM hub.domain_rule r WHERE r.domain = d.id) AS rules`

export type RuleJson = Omit<PageRule, 'price' | 'cachedPrice'> & {
  readonly price: string
  readonly cachedPrice: string
}

export const parseRule = ({ price, cachedPrice, ...rest }: RuleJson): PageRule => ({
  ...rest,
  price: BigInt(price) as PageRule['price'],
  cachedPrice: BigInt(cachedPrice) as PageRule['cachedPrice'],
})

/** Reads the rules of a domain in the owner's order. */
export async function readRules(pool: Pool, domain: string): Promise<readonly PageRule[]> {
  const { rows } = await pool.query<{ rules: readonly RuleJson[] }>(
    `SELECT ${RULES_JSON} FROM hub.domain d WHERE d.id = $1`,
    [domain],
  )
  return (rows[0]?.rules ?? []).map(parseRule)
}

/** Replaces all rules of a domain. */
export async function writeRules(
  pool: Pool,
  domain: string,
  rules: readonly PageRule[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('SELECT FROM hub.domain WHERE id = $1 FOR UPDATE', [domain])
    await client.query('DELETE FROM hub.domain_rule WHERE domain = $1', [domain])
    await client.query(
      `INSERT INTO hub.domain_rule (domain, pattern, position, agents, allow, price, cached_price,
         max_age_seconds, preview_characters, wait_for, exclude, fast)
       SELECT $1, r ->> 'pattern', n - 1, ARRAY(SELECT jsonb_array_elements_text(r -> 'agents')),
         (r ->> 'allow')::boolean, (r ->> 'price')::bigint,
         (r ->> 'cachedPrice')::bigint, (r ->> 'maxAgeSeconds')::integer,
         (r ->> 'previewCharacters')::integer, r ->> 'waitFor',
         ARRAY(SELECT jsonb_array_elements_text(r -> 'exclude')), (r ->> 'fast')::boolean
       FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY rule (r, n)`,
      [
        domain,
        JSON.stringify(rules, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      ],
    )
  })
}
