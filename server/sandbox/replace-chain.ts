import { createPool } from '../../core/db/pool.ts'
import { archiveChain, type ChainOptions, type SandboxChain, startChain } from './chain.ts'

/** A new chain in the place of another one. */
export interface ReplacedChain {
  /** Directory with the state of the old chain; undefined if that was lost. */
  readonly archive: string | undefined
}

/** Archives the chain and starts a new one, whose blocks follow all those that the ledger names. */
export async function replaceChain(
  options: ChainOptions,
  databaseUrl: string,
): Promise<SandboxChain & { readonly replaced: ReplacedChain }> {
  const firstBlock = await findNextBlock(databaseUrl)
  const archive = await archiveChain(options.dataDir)
  return { ...(await startChain({ ...options, firstBlock })), replaced: { archive } }
}

/** Numbers continue, so that each block has a number of its own in the ledger of both chains. */
async function findNextBlock(databaseUrl: string): Promise<bigint> {
  const pool = createPool(databaseUrl, { max: 1, role: 'hub_app' })
  try {
    const { rows } = await pool.query<{ next: bigint }>(
      `SELECT coalesce(greatest((SELECT max(to_block) FROM hub.reconciliation),
         (SELECT max(block) FROM hub.transfer), (SELECT max(opened_at) FROM hub.gas_wallet),
         (SELECT max(from_block) FROM hub.payment_intent),
         (SELECT max(from_block) FROM hub.payout)) + 1, 0) AS next`,
    )
    return rows[0]!.next
  } finally {
    await pool.end()
  }
}
