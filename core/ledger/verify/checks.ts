/** Part of the ledger to check, as SQL fragments. */
export interface Scope {
  /** Condition on the rows or seals of a table alias, by their sequence column. */
  readonly rows: (alias: string, column?: 'seq' | 'seq_to') => string
  /** Condition on the `shard` column of a table alias. */
  readonly shard: (alias: string) => string
  /** Last sequence number before the part, and the hash of the seal there, as SQL literals. */
  readonly after: string
  readonly hash: string
  /** Query of the ends of the part: (shard, seq, hash). */
  readonly ends: string
}

/** All entries, up to the heads. */
export const WHOLE_LEDGER: Scope = {
  rows: () => 'true',
  shard: () => 'true',
  after: '0',
  hash: `'\\x00'::bytea`,
  ends: 'SELECT shard, seq, hash FROM ledger.head',
}

/** Range of ids between bounds of partitions of the journal; null: unbounded. */
export interface IdRange {
  readonly first: string | null
  /** First id after the range. */
  readonly next: string | null
}

/** All entries with an id in the range, and so all entries of each of their calls. */
export const rangeScope = ({ first, next }: IdRange, part: Scope = WHOLE_LEDGER): Scope => ({
  ...part,
  rows: (alias) => {
    const from = first === null ? [] : [`${alias}.id >= '${first}'::uuid`]
    const to = next === null ? [] : [`${alias}.id < '${next}'::uuid`]
    return [part.shard(alias), ...from, ...to].join(' AND ')
  },
})

/** SQL queries by check name; each returns the offenders as (shard, seq, example). */
export type Checks = Readonly<Record<string, string>>

/** Scope of a shard after `after`, whose seal has this hash, up to `upto` or to the head. */
export function shardScope(
  shard: number,
  { after, hash, upto }: { after: bigint; hash: Buffer; upto?: bigint },
): Scope {
  const ofShard = (alias: string): string => `${alias}.shard = ${shard}`
  return {
    shard: ofShard,
    rows: (alias, column = 'seq') =>
      `${ofShard(alias)} AND ${alias}.${column} > ${after}` +
      (upto === undefined ? '' : ` AND ${alias}.${column} <= ${upto}`),
    after: String(after),
    hash: `'\\x${hash.toString('hex')}'::bytea`,
    ends:
      upto === undefined
        ? `SELECT h.shard, h.seq, h.hash FROM ledger.head h WHERE ${ofShard('h')}`
        : `SELECT s.shard, s.seq_to AS seq, s.hash FROM ledger.seal s
           WHERE ${ofShard('s')} AND s.seq_to = ${upto}`,
  }
}

const ONE_OUTCOME = 'a hold has one outcome at most'

const label = (j: string): string =>
  `format('shard %s seq %s id %s', ${j}.shard, ${j}.seq, ${j}.id)`

const reversalCheck = ({ rows }: Scope): Checks => ({
  'a reversal refunds at most the amount charged': `
    SELECT v.shard, v.seq, ${label('v')} || format(': refunds %s of %s', v.given,
      coalesce(v.charged::text, 'nothing charged')) AS example
    FROM (SELECT j.shard, j.seq, j.id, s.shard AS home, s.seq AS settled,
        CASE s.phase WHEN 2 THEN s.amount ELSE
          (SELECT sum(u) FROM unnest(s.amounts) u WHERE u > 0) END AS charged,
        (SELECT sum(u.amount) FROM unnest(j.accounts, j.amounts) u(account, amount)
          WHERE u.amount > 0) AS given,
        (SELECT bool_or(CASE s.phase WHEN 2 THEN u.account <> j.owner
            ELSE u.account NOT IN (8, 23) END)
          FROM unnest(j.accounts, j.amounts) u(account, amount) WHERE u.amount > 0) AS stray
      FROM ledger.journal j LEFT JOIN ledger.journal s ON s.shard = j.shard
        AND s.owner = j.owner AND s.id = j.id
        AND (s.phase = 2 AND s.kind = 2 OR s.phase = 0 AND s.kind = 18)
      WHERE ${rows('j')} AND j.phase = 3) v
    WHERE v.charged IS NULL OR v.given > v.charged OR v.stray OR v.home <> v.shard
      OR v.settled >= v.seq`,
})

/** Checks of single rows and the rows they refer to. */
export const rowChecks = (scope: Scope): Checks => ({
  'every row is as it was written': `
    SELECT j.shard, j.seq, ${label('j')} AS example
    FROM ledger.journal j
    WHERE ${scope.rows('j')} AND j.leaf IS DISTINCT FROM ledger.leaf(ROW(j.*)::ledger.journal)`,

  // The legs of a call sum to zero for any amounts: those without guards, on accounts of one asset
  // (owner, hold, payee, commission), are balanced. Legs are only summed for other entries.
  'every entry is balanced for each asset': `
    SELECT e.shard, e.seq, ${label('e')} || format(': %s in asset %s', e.total,
      coalesce(e.asset::text, 'unknown')) AS example
    FROM (SELECT j.shard, j.seq, j.id, a.asset, sum(l.amount) AS total
      FROM ledger.journal j
      LEFT JOIN ledger.account o ON o.id = j.owner
      LEFT JOIN ledger.account h ON h.id = ledger.holds_account(j.asset)
      LEFT JOIN ledger.account p ON p.id = j.payee
      LEFT JOIN ledger.account c ON c.id = 1
      CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
      LEFT JOIN ledger.account a ON a.id = l.account
      WHERE ${scope.rows('j')} AND (num_nonnulls(j.accounts, j.amounts, j.guards) = 0
        AND o.asset = h.asset AND (j.phase = 1 OR (p.asset = h.asset OR j.amount = j.fee)
          AND (c.asset = h.asset OR j.fee = 0))) IS NOT TRUE
      GROUP BY j.shard, j.seq, j.id, a.asset) e
    WHERE e.total <> 0 OR e.asset IS NULL`,

  // Only the steps of calls may change the control accounts of holds: 2, 30 and 40.
  'every entry follows the rule of its event': `
    SELECT j.shard, j.seq, ${label('j')} || ': ' || coalesce(k.event, 'kind ' || j.kind) AS example
    FROM ledger.journal j LEFT JOIN ledger.kind k ON k.id = j.kind
    WHERE ${scope.rows('j')} AND (k.id IS NULL OR k.phase <> j.phase
      OR least(j.amount, j.rest, j.fee) < 0 OR j.fee > j.amount
      OR CASE j.phase
        WHEN 1 THEN num_nonnulls(j.accounts, j.amounts) > 0 OR j.amount = 0 OR j.rest + j.fee > 0
          OR j.expires_at IS NULL
        WHEN 2 THEN num_nonnulls(j.accounts, j.amounts) > 0 OR j.kind > 2 AND j.amount > 0
          OR j.amount = 0 AND j.rest = 0 OR j.fee <> div(j.amount::numeric * j.bps, 10000)
        ELSE coalesce(cardinality(j.accounts) NOT BETWEEN 2 AND 8 AND k.debits <> '{}'
            OR cardinality(j.accounts) <> cardinality(j.amounts), true) OR j.effective_at > j.at
          OR EXISTS (SELECT 1 FROM unnest(j.accounts, j.amounts) u(account, amount)
            LEFT JOIN ledger.account a ON a.id = u.account
            WHERE a.id IS NULL OR a.id IN (2, 30, 40) OR coalesce(u.amount, 0) = 0
              OR NOT a.code LIKE ANY (CASE WHEN u.amount < 0 THEN k.debits ELSE k.credits END))
          OR EXISTS (SELECT 1 FROM unnest(k.needs) n
            WHERE coalesce(length(trim(j.meta ->> n)), 0) = 0) END)`,

  'every outcome has a reserve with the same terms': `
    SELECT s.shard, s.seq, ${label('s')} || CASE WHEN r.id IS NULL THEN ': no reserve'
      ELSE format(': charged %s, released %s of %s, or other terms than the reserve', s.amount,
        s.rest, r.amount) END AS example
    FROM ledger.journal s
    LEFT JOIN ledger.journal r ON r.shard = s.shard AND r.owner = s.owner AND r.id = s.id
      AND r.phase = 1 WHERE ${scope.rows('s')} AND s.phase = 2
      AND (r.id IS NULL OR s.amount::numeric + s.rest <> r.amount
      OR s.fee <> div(s.amount::numeric * s.bps, 10000)
      OR s.seq <= r.seq
      OR (s.shard, s.payee, s.bps, s.asset, s.endpoint, s.price_version, s.guards) IS DISTINCT FROM
        (r.shard, r.payee, r.bps, r.asset, r.endpoint, r.price_version, r.guards))`,

  ...reversalCheck(scope),
})

/** Checks that closed months accept no entries. @param periods query of the closed months */
export const periodChecks = ({ rows, shard }: Scope, periods: string): Checks => ({
  // The index of late entries finds those posted after a closing and dated before its end.
  'no entry is dated in a month that was closed before': `
    SELECT j.shard, j.seq, ${label('j')} || format(': dated %s', j.effective_at) AS example
    FROM (${periods}) p JOIN ledger.journal j ON j.effective_at IS NOT NULL
      AND tstzrange(j.effective_at, j.at, '[]') @> tstzrange((p.month + interval '1 month')
        AT TIME ZONE 'UTC' - interval '1 microsecond', p.at, '[]')
    WHERE ${rows('j')}`,

  'the closed months are those of the journal': `
    SELECT h.shard, NULL::bigint AS seq,
      format('shard %s: open since %s, the journal says %s', h.shard, h.open_since, p.open)
      AS example
    FROM ledger.head h, (SELECT coalesce((max(month) + interval '1 month') AT TIME ZONE 'UTC',
      '-infinity') AS open FROM (${periods}) m) p WHERE ${shard('h')} AND h.open_since <> p.open`,
})

/** Checks of the order of rows and seals. */
export const orderChecks = ({ rows, after, hash, ends }: Scope): Checks => ({
  'the sequence has no gaps and ends at the head': `
    SELECT o.shard, o.seq, CASE
      WHEN o.at_head THEN format('shard %s: the head is at %s, the journal at %s', o.shard,
        o.seq - 1, o.before)
      WHEN o.seq <= o.before
        THEN format('shard %s seq %s id %s: a number used twice', o.shard, o.seq, o.id)
      ELSE format('shard %s seq %s is missing', o.shard, o.before + 1) END AS example
    FROM (SELECT r.*, coalesce(lag(r.seq) OVER (PARTITION BY r.shard ORDER BY r.at_head, r.seq),
        ${after}) AS before
      FROM (SELECT j.shard, j.seq, j.id, false AS at_head FROM ledger.journal j WHERE ${rows('j')}
        UNION ALL SELECT e.shard, e.seq + 1, NULL, true FROM (${ends}) e) r) o
    WHERE o.seq <> o.before + 1`,

  'the seals are one unbroken chain up to the head': `
    SELECT c.shard, c.seq_to AS seq, format('shard %s seal of seq %s to %s', c.shard, c.seq_from,
      c.seq_to) AS example
    FROM (SELECT l.*, coalesce(lag(l.hash) OVER w, ${hash}) AS before,
        coalesce(lag(l.seq_to) OVER w, ${after}) AS before_to, lag(l.at) OVER w AS before_at
      FROM (SELECT s.shard, s.seq_from, s.seq_to, s.prev, s.hash, s.at, false AS at_head
          FROM ledger.seal s WHERE ${rows('s', 'seq_to')}
        UNION ALL SELECT e.shard, e.seq + 1, NULL, e.hash, NULL, NULL, true FROM (${ends}) e) l
      WINDOW w AS (PARTITION BY l.shard ORDER BY l.at_head, l.seq_to)) c
    WHERE c.prev <> c.before OR c.seq_from <> c.before_to + 1 OR c.at < c.before_at`,

  // Merges rows and seals in one order: a row belongs to the last seal that starts at or before it.
  'every row is under its seal': `
    SELECT g.shard, min(g.seq) AS seq, format('shard %s seq %s to %s', g.shard, min(g.seq),
      max(g.seq)) AS example
    FROM (SELECT u.*, count(u.seq_to) OVER (PARTITION BY u.shard
        ORDER BY u.seq, u.leaf IS NOT NULL ROWS UNBOUNDED PRECEDING) AS link
      FROM (SELECT s.shard, s.seq_from AS seq, s.seq_to, s.prev, s.hash, s.at, NULL::bytea AS leaf
          FROM ledger.seal s WHERE ${rows('s', 'seq_to')}
        UNION ALL SELECT j.shard, j.seq, NULL, NULL, NULL, j.at, j.leaf
          FROM ledger.journal j WHERE ${rows('j')}) u) g
    GROUP BY g.shard, g.link
    HAVING g.link = 0 OR count(g.leaf) <> max(g.seq_to) - min(g.seq) + 1 OR min(g.at) <> max(g.at)
      OR sha256(string_agg(g.prev, '') || string_agg(g.leaf, '' ORDER BY g.seq))
        IS DISTINCT FROM string_agg(g.hash, '')`,
})

/** Checks of the current balances; their cost does not depend on the length of the journal. */
export const balanceChecks = ({ shard }: Scope): Checks => ({
  'balances sum to zero for each asset': `
    SELECT b.shard, NULL::bigint AS seq,
      format('%s: the balances sum to %s', s.code, sum(b.balance)) AS example
    FROM ledger.balance b JOIN ledger.asset s ON s.id = b.asset WHERE ${shard('b')}
    GROUP BY b.shard, s.code HAVING sum(b.balance) <> 0`,

  'no balance is below its floor': `
    SELECT b.shard, NULL::bigint AS seq,
      format('%s: balance %s, floor %s', a.code, b.balance, b.floor) AS example
    FROM ledger.balance b LEFT JOIN ledger.account a ON a.id = b.account
    WHERE ${shard('b')} AND (b.balance < b.floor
      OR b.floor IS DISTINCT FROM CASE a.class WHEN 'liabilities' THEN 0 END)`,
})

/** Compares balances with sums of postings; `sums` is a query of (shard, account, total). */
export const balanceSumChecks = (sums: string, { shard }: Scope): Checks => ({
  'each balance is the sum of its postings': `
    SELECT coalesce(b.shard, p.shard) AS shard, NULL::bigint AS seq,
      format('%s: balance %s, postings %s', coalesce(a.code, 'account ' || p.account),
        coalesce(b.balance::text, 'missing'), coalesce(p.total, 0)) AS example
    FROM (${sums}) p
    FULL JOIN (SELECT * FROM ledger.balance b WHERE ${shard('b')}) b
      ON b.account = p.account AND b.shard = p.shard
    LEFT JOIN ledger.account a ON a.id = b.account
    WHERE b.account IS NULL OR b.balance <> coalesce(p.total, 0) OR b.asset <> a.asset`,
})

export const postingSums = ({ shard }: Scope): string => `
  SELECT j.shard, l.account, sum(l.amount) AS total
  FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
  WHERE ${shard('j')} GROUP BY j.shard, l.account`

/** Checks the snapshots of a shard up to its head. */
export const snapshotCheck = (shard: number, head: bigint): Checks => ({
  'each snapshot matches the journal': `
    SELECT ${shard} AS shard, w.seq, w.example
    FROM ledger.wrong_snapshots(${shard}::smallint, 0, ${head}) w`,
})

/** Checks the balances at the ends of days. */
export const DAY_END_CHECK: Checks = {
  'each end-of-day balance matches the journal': `
    SELECT NULL::smallint AS shard, NULL::bigint AS seq, w.example FROM ledger.wrong_day_ends() w`,
}

/** Checks the outcomes of calls in a partition. */
export const singleOutcomeChecks = ({ rows }: Scope): Checks => ({
  [ONE_OUTCOME]: `
    SELECT min(j.shard) AS shard, min(j.seq) AS seq, format('shard %s seq %s id %s: %s outcomes',
      min(j.shard), min(j.seq), j.id, count(*)) AS example
    FROM ledger.journal j WHERE ${rows('j')} AND j.phase = 2
    GROUP BY j.owner, j.id HAVING count(*) > 1`,
})

/** Checks outcomes in a part of the journal. */
export const outcomeChecks = ({ rows }: Scope): Checks => ({
  [ONE_OUTCOME]: `
    SELECT j.shard, j.seq, ${label('j')} || ': a second outcome' AS example
    FROM ledger.journal j WHERE ${rows('j')} AND j.phase = 2
      AND (SELECT count(*) FROM ledger.journal o
        WHERE o.shard = j.shard AND o.owner = j.owner AND o.id = j.id AND o.phase = 2) > 1`,
})
