import type { PoolClient } from 'pg'
import { isDistributed } from '../../db/citus/is-distributed.ts'
import { type Checks, orderChecks, outcomeChecks, rowChecks, type Scope } from './checks.ts'
import type { Findings } from './findings.ts'
import { runChecks } from './run-checks.ts'

/** New entries of a shard. */
export interface NewEntries {
  readonly shard: number
  readonly scope: Scope
}

/** Numbers of entries that both queries of the screen must agree on. */
interface Screened {
  readonly isSound: boolean
  /** Entries of phase 1 and of phase 2. */
  readonly reserves: bigint
  readonly outcomes: bigint
}

interface ScreenedRows extends Screened {
  /** Entries other than the steps of calls, and steps with guards: their legs are not checked. */
  readonly others: bigint
  readonly guarded: bigint
}

/** Condition on a journal row: its leaf is its own, and a step of a call follows its rule. */
const SOUND_ROW = `(j.leaf = ledger.leaf(ROW(j.*)::ledger.journal) AND CASE
  WHEN j.kind > 4 THEN true
  WHEN num_nonnulls(j.accounts, j.amounts) > 0 OR least(j.amount, j.rest, j.fee) < 0 THEN false
  WHEN j.kind = 1 AND j.phase = 1 THEN
    j.amount > 0 AND j.rest = 0 AND j.fee = 0 AND j.expires_at IS NOT NULL
  WHEN j.kind IN (2, 3, 4) AND j.phase = 2 AND j.bps BETWEEN 0 AND 10000 THEN
    (j.kind = 2 OR j.amount = 0) AND (j.amount > 0 OR j.rest > 0)
    AND j.fee = j.amount / 10000 * j.bps + j.amount % 10000 * j.bps / 10000
  ELSE false END) IS TRUE`

/**
 * Reads rows and seals once, in one order. A row is the next one of the sequence, and belongs to
 * the last seal that starts at or before it.
 */
const screenRows = (shard: number, { rows, after, ends }: Scope): string => `
  SELECT coalesce(bool_and(g.is_sound), true) AND coalesce(sum(g.size), 0) =
      (SELECT e.seq - ${after} FROM (${ends}) e) AND (SELECT count(*) = 4 FROM ledger.kind k
        WHERE (k.id, k.phase) IN ((1, 1), (2, 2), (3, 2), (4, 2))) AS "isSound",
    coalesce(sum(g.reserves), 0)::bigint AS reserves,
    coalesce(sum(g.outcomes), 0)::bigint AS outcomes,
    coalesce(sum(g.others), 0)::bigint AS others, coalesce(sum(g.guarded), 0)::bigint AS guarded
  FROM (SELECT count(*) - 1 AS size, count(*) FILTER (WHERE o.phase = 1) AS reserves,
      count(*) FILTER (WHERE o.phase = 2) AS outcomes, count(*) FILTER (WHERE o.is_other) AS others,
      count(*) FILTER (WHERE o.is_guarded) AS guarded, (o.link > 0 AND bool_and(o.is_sound)
        AND count(*) = max(o.seq_to) - min(o.seq) + 2 AND min(o.at) = max(o.at)
        AND sha256(string_agg(o.prev, '') || string_agg(o.leaf, '' ORDER BY o.seq))
          = string_agg(o.hash, '')) IS TRUE AS is_sound
    FROM (SELECT u.*, count(u.seq_to) OVER w AS link,
        u.is_valid AND (u.seq_to IS NOT NULL
          OR u.seq = ${after} + count(u.phase) OVER w) AS is_sound
      FROM (SELECT s.seq_from AS seq, s.seq_to, s.prev, s.hash, s.at, NULL::bytea AS leaf,
            NULL::smallint AS phase, true AS is_valid, false AS is_other, false AS is_guarded
          FROM ledger.seal s WHERE s.shard = ${shard} AND ${rows('s', 'seq_to')}
        UNION ALL SELECT j.seq, NULL, NULL, NULL, j.at, j.leaf, j.phase, ${SOUND_ROW},
            j.kind > 4, j.guards IS NOT NULL
          FROM ledger.journal j WHERE j.shard = ${shard} AND ${rows('j')}) u
      WINDOW w AS (ORDER BY u.seq, u.phase IS NOT NULL ROWS UNBOUNDED PRECEDING)) o
    GROUP BY o.link) g`

/** Condition on an outcome `s` and its reserve. */
const haveSameTerms = (r: string): string => `(s.seq > ${r}.seq
  AND CASE WHEN least(s.amount, s.rest, ${r}.amount) >= 0 THEN s.amount = ${r}.amount - s.rest END
  AND (s.payee, s.bps, s.asset, s.endpoint, s.price_version, s.guards) IS NOT DISTINCT FROM
    (${r}.payee, ${r}.bps, ${r}.asset, ${r}.endpoint, ${r}.price_version, ${r}.guards))`

/**
 * Joins outcomes with their reserves: nearly all of both are new. An outcome is looked up in the
 * index only if its reserve is older. An outcome that comes second makes a pair too many. The steps
 * are read first, because a plan for a young journal would join all of it.
 */
const screenPairs = (shard: number, { rows }: Scope): string => `
  WITH step AS MATERIALIZED (
    SELECT j.seq, j.owner, j.id, j.phase, j.amount, j.rest, j.fee, j.payee, j.bps, j.asset,
      j.endpoint, j.price_version, j.guards
    FROM ledger.journal j WHERE j.shard = ${shard} AND ${rows('j')} AND j.phase IN (1, 2)
  )
  SELECT coalesce(bool_and((v.is_sound AND o.asset = h.asset AND (NOT v.pays OR p.asset = h.asset)
      AND (NOT v.earns OR c.asset = h.asset)) IS TRUE), true) AS "isSound",
    coalesce(sum(v.pairs + v.open), 0)::bigint AS reserves,
    coalesce(sum(v.pairs + v.older), 0)::bigint AS outcomes
  FROM (SELECT coalesce(s.owner, r.owner) AS owner, coalesce(s.payee, r.payee) AS payee,
      coalesce(s.asset, r.asset) AS asset,
      count(*) FILTER (WHERE s.id IS NOT NULL AND r.id IS NOT NULL) AS pairs,
      count(*) FILTER (WHERE s.id IS NULL) AS open, count(*) FILTER (WHERE r.id IS NULL) AS older,
      coalesce(bool_or(s.amount <> s.fee), false) AS pays,
      coalesce(bool_or(s.fee <> 0), false) AS earns,
      bool_and(CASE WHEN s.id IS NULL THEN true
        WHEN r.id IS NOT NULL THEN ${haveSameTerms('r')} IS TRUE
        ELSE (SELECT bool_and(${haveSameTerms('e')}) FROM ledger.journal e WHERE e.shard = ${shard}
            AND e.owner = s.owner AND e.id = s.id AND e.phase = 1) IS TRUE
          AND (SELECT count(*) FROM ledger.journal e WHERE e.shard = ${shard}
            AND e.owner = s.owner AND e.id = s.id AND e.phase = 2) = 1 END) AS is_sound
    FROM (SELECT * FROM step WHERE phase = 2) s
    FULL JOIN (SELECT * FROM step WHERE phase = 1) r ON r.owner = s.owner AND r.id = s.id
    GROUP BY 1, 2, 3) v
  LEFT JOIN ledger.account o ON o.id = v.owner
  LEFT JOIN ledger.account h ON h.id = ledger.holds_account(v.asset)
  LEFT JOIN ledger.account p ON p.id = v.payee
  LEFT JOIN ledger.account c ON c.id = 1`

/**
 * Proves in two queries that new entries violate no check of rows, order and outcomes. Only the
 * chain of seals is left to check, and the rules, legs and reversals of entries other than plain
 * steps of calls.
 * @returns undefined if there may be a violation
 */
async function screen(
  client: PoolClient,
  { shard, scope }: NewEntries,
): Promise<ScreenedRows | undefined> {
  const { rows: found } = await client.query<ScreenedRows>(screenRows(shard, scope))
  const { rows: joined } = await client.query<Screened>(screenPairs(shard, scope))
  const [entries, pairs] = [found[0]!, joined[0]!]
  const isSound =
    entries.isSound &&
    pairs.isSound &&
    entries.reserves === pairs.reserves &&
    entries.outcomes === pairs.outcomes
  return isSound ? entries : undefined
}

/**
 * Checks new entries of a shard. Names the violations of those that do not pass the screen, which
 * takes half of the time of all checks.
 */
export async function checkNewEntries(
  client: PoolClient,
  entries: NewEntries,
  findings: Findings,
): Promise<void> {
  const { scope } = entries
  const all = { ...rowChecks(scope), ...orderChecks(scope), ...outcomeChecks(scope) }
  for (const name of Object.keys(all)) findings.list(name)
  const passed = (await isDistributed(client)) ? undefined : await screen(client, entries)
  if (!passed) return runChecks(client, all, findings)
  await runChecks(client, pick(orderChecks(scope), CHAIN), findings)
  if (passed.others > 0n) await runChecks(client, otherChecks(scope), findings)
  if (passed.guarded > 0n) await runChecks(client, guardChecks(scope), findings)
}

const CHAIN = 'the seals are one unbroken chain up to the head'
const LEGS = 'every entry is balanced for each asset'
const RULE = 'every entry follows the rule of its event'
const REVERSAL = 'a reversal refunds at most the amount charged'

const within = ({ rows, ...scope }: Scope, condition: (alias: string) => string): Scope => ({
  ...scope,
  rows: (alias, column) => `${rows(alias, column)} AND ${condition(alias)}`,
})

const pick = (checks: Checks, ...names: readonly string[]): Checks =>
  Object.fromEntries(names.map((name) => [name, checks[name]!]))

/** Checks of entries other than the steps of calls; an index has them. */
const otherChecks = (scope: Scope): Checks =>
  pick(rowChecks(within(scope, (alias) => `${alias}.kind > 4`)), LEGS, RULE, REVERSAL)

const guardChecks = (scope: Scope): Checks =>
  pick(rowChecks(within(scope, (alias) => `${alias}.guards IS NOT NULL`)), LEGS)
