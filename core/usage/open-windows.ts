import type { Pool } from 'pg'
import type { Log } from '../log.ts'
import { FallbackWindows, MemoryWindows, type Windows } from './windows.ts'
import { DatabaseWindows } from './windows-database.ts'

/** Where rate limits are counted. */
export type RateStore = 'memory' | 'database' | { readonly redisUrl: string }

/** Opens the store; one that is shared is insured against its loss. */
export async function openWindows(store: RateStore, pool: Pool, log: Log): Promise<Windows> {
  if (store === 'memory') return new MemoryWindows()
  if (store === 'database') return new FallbackWindows(new DatabaseWindows(pool), log)
  const { RedisWindows } = await import('./windows-redis.ts') // who has none does not wait for it
  return new FallbackWindows(await RedisWindows.open(store.redisUrl), log)
}
