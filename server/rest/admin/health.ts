import { statfs } from 'node:fs/promises'
import { z } from 'zod'
import { HEALTH_AREAS, type HealthCheck, readHubHealth } from '../../../core/finance/hub-health.ts'
import {
  type BalancesDeps,
  readWalletBalances,
} from '../../../core/payments/operations/wallet-balances.ts'
import { walletsOn } from '../../../core/reconciliation/wallets.ts'
import { type AnyRoute, route } from '../route.ts'

export interface HealthBoardDeps extends BalancesDeps {
  readonly dataDir: string
}

/** Maximum time for a response of the node. */
const NODE_TIMEOUT_MS = 2_000
/** Least free share of the disk, in percent. */
const DISK_FREE_MIN = 10

const HealthBoard = z.object({
  checks: z.array(
    z.object({
      area: z.enum(HEALTH_AREAS),
      name: z.string(),
      good: z.boolean().meta({
        description:
          'False if the value is beyond its limit, which is that of its alert if it has one.',
      }),
      value: z.number().nullable(),
      unit: z.enum(['seconds', 'entries', 'bytes', 'percent', 'count', 'block']),
    }),
  ),
})
export type HealthBoardJson = z.infer<typeof HealthBoard>

export const healthBoardRoutes = (deps: HealthBoardDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/health', {
    summary: 'Returns the state of shards, jobs, queues, backups, indexes, disk and chain.',
    auth: 'admin',
    response: { status: 200, schema: HealthBoard },
    handle: async () => {
      const [found, disk, chain] = await Promise.all([
        readHubHealth(deps.pool, walletsOn(deps.networks)),
        checkDisk(deps.dataDir),
        checkChain(deps),
      ])
      const checks = [...found, ...disk, chain]
      return { body: { checks: checks.map(({ isGood, ...each }) => ({ ...each, good: isGood })) } }
    },
  }),
]

/** Free share of the disk for processes without privileges; none without the folder. */
async function checkDisk(folder: string): Promise<readonly HealthCheck[]> {
  const disk = await statfs(folder).catch(() => undefined)
  if (disk === undefined) return []
  const value = Math.floor((100 * disk.bavail) / disk.blocks)
  const isGood = value >= DISK_FREE_MIN
  return [{ area: 'disk', name: 'free, HUB_DATA_DIR', isGood, value, unit: 'percent' }]
}

async function checkChain(deps: BalancesDeps): Promise<HealthCheck> {
  const { chain } = await readWalletBalances(deps, NODE_TIMEOUT_MS).catch(() => ({
    chain: undefined,
  }))
  const value = chain === undefined ? null : Number(chain.block)
  return { area: 'chain', name: 'last block', isGood: value !== null, value, unit: 'block' }
}
