import { createPool } from '../../../core/db/pool.ts'
import { exportLedger } from '../../../core/ledger/export/writer.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import type { Entry } from '../bank/bank.ts'
import { type LedgerSpec, ledgerBank } from './ledger.ts'

/**
 * Posts the entries of a bank again, one by one in the order of each shard.
 * @param target bank with the same agents, and without entries
 */
export async function replayEntries(entries: readonly Entry[], target: LedgerSpec): Promise<void> {
  const bank = ledgerBank(target)
  const expired = new Set(entries.filter(({ what }) => what === 'expire').map(({ id }) => id))
  const post = ({ what, id, agent, amount }: Entry) =>
    what === 'expire'
      ? bank.expireHold({ id, agent })
      : bank[what]({ what, id, agent, amount, ttlSeconds: expired.has(id) ? 0 : 3_600 })
  const shards = Map.groupBy(entries, ({ agent }) => target.agents[agent]!.shard)
  try {
    await Promise.all([...shards.values()].map((own) => postInOrder(own, post)))
  } finally {
    await bank.close()
  }
}

async function postInOrder(
  entries: readonly Entry[],
  post: (entry: Entry) => Promise<string>,
): Promise<void> {
  for (const entry of entries) {
    const outcome = await post(entry)
    if (outcome !== 'applied') throw new Error(`${entry.what} ${entry.id}: ${outcome}`)
  }
}

/** Verification and export of a ledger, line by line, without the dates of its entries. */
export async function readBooks(url: string): Promise<readonly string[]> {
  const pool = createPool(url, { role: 'hub_app', max: 4, statementMs: 0 })
  try {
    const { checks } = await verifyLedger(pool)
    let text = ''
    for await (const part of exportLedger(pool, 'hledger')) text += part
    return [
      ...checks.map(({ name, bad }) => `${name}: ${bad}`),
      ...text.replaceAll(/^\d{4}-\d{2}-\d{2} /gm, '').split('\n'),
    ]
  } finally {
    await pool.end()
  }
}
