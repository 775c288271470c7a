import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { type SigningKey, signingKeyOf } from '../../../../core/crypto/signing-key.ts'
import { inTransaction } from '../../../../core/db/transaction.ts'
import type { Verification } from '../../../../core/ledger/verify.ts'
import type { FreshDatabase } from '../../../support/postgres.ts'
import { WITHOUT_TRIGGERS } from '../../../support/without-triggers.ts'

export const newSigner = (): SigningKey => signingKeyOf(generateKeyPairSync('ed25519').privateKey)

/** Public key in the format of `TrustAnchors.keys`. */
export const pinned = ({ publicKey }: SigningKey): string => publicKey.toString('base64')

/** Changes the ledger's tables as a superuser with triggers disabled. */
export const tamper = (database: FreshDatabase, ...statements: string[]): Promise<void> =>
  inTransaction(
    database.admin,
    async (client) => {
      for (const sql of statements) {
        const result = await client.query(sql)
        if (!sql.startsWith('DO')) expect(result.rowCount, sql).to.be.above(0)
      }
    },
    WITHOUT_TRIGGERS,
  )

/** Violated checks with their first example. */
export const broken = ({ checks }: Verification): Record<string, string> =>
  Object.fromEntries(
    checks.filter(({ bad }) => bad !== 0n).map(({ name, example }) => [name, example ?? '']),
  )

/**
 * Recomputes leaves, seals and balances after a change of rows, like a careful forger. Each
 * statement is one that Citus takes.
 */
export const REWRITE = [
  `WITH n AS MATERIALIZED (
     SELECT r.shard, r.seq, ledger.leaf(ROW(r.*)::ledger.journal) AS leaf FROM ledger.journal r)
   UPDATE ledger.journal j SET leaf = n.leaf FROM n WHERE n.shard = j.shard AND n.seq = j.seq`,
  `DO $$
   DECLARE
     link record;
     last bytea;
     shard_before smallint := -1;
   BEGIN
     FOR link IN SELECT * FROM ledger.seal ORDER BY shard, seq_to LOOP
       IF link.shard <> shard_before THEN last := '\\x00'; END IF;
       UPDATE ledger.seal s SET prev = last, hash = sha256(last || (
           SELECT string_agg(j.leaf, '' ORDER BY j.seq) FROM ledger.journal j
           WHERE j.shard = link.shard AND j.seq BETWEEN link.seq_from AND link.seq_to))
         WHERE s.shard = link.shard AND s.seq_to = link.seq_to RETURNING s.hash INTO last;
       UPDATE ledger.head h SET hash = last WHERE h.shard = link.shard;
       shard_before := link.shard;
     END LOOP;
   END $$`,
  'UPDATE ledger.balance SET balance = 0',
  `UPDATE ledger.balance b SET balance = p.total FROM (
     SELECT j.shard, l.account, sum(l.amount) AS total
     FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
     GROUP BY 1, 2) p
   WHERE b.shard = p.shard AND b.account = p.account`,
] as const

/** Also recomputes the sums stored by the verification. */
export const REWRITE_SUMS = [
  'DELETE FROM ledger.verified_balance',
  `INSERT INTO ledger.verified_balance SELECT j.shard, l.account, sum(l.amount)
   FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
   WHERE j.seq <= (SELECT max(c.seq) FROM ledger.checkpoint c WHERE c.shard = j.shard)
   GROUP BY 1, 2`,
] as const

/** Removes the tree of checkpoints. */
export const FORGET_HEADS = [
  'DELETE FROM ledger.signed_head',
  'DELETE FROM ledger.heads_checkpoint',
  'DELETE FROM ledger.tile WHERE shard = -1',
  'DELETE FROM ledger.tree WHERE shard = -1',
] as const

/** Removes all checkpoints, like a forger without the data directory. */
export const FORGET_CHECKPOINTS = [
  'DELETE FROM ledger.checkpoint',
  'DELETE FROM ledger.verified_balance',
  ...FORGET_HEADS,
] as const
