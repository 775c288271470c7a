import { ConfigError } from '../runtime/config-error.ts'
import type { RateStore } from '../usage/open-windows.ts'
import type { Environment } from './environment.ts'

/** Selects where rate limits are counted: in memory only for a single-process sandbox. */
export function rateStoreOf(e: Environment, isProduction: boolean): RateStore {
  if (e.HUB_RATE_STORE === 'memory' && e.HUB_WORKERS > 1) {
    throw new ConfigError(
      'HUB_RATE_STORE=memory supports one process only: unset HUB_RATE_STORE or HUB_WORKERS.',
    )
  }
  const isRedis = e.HUB_RATE_STORE === undefined || e.HUB_RATE_STORE === 'redis'
  if (isRedis && e.REDIS_URL !== undefined) return { redisUrl: e.REDIS_URL }
  if (e.HUB_RATE_STORE === 'redis') {
    throw new ConfigError('HUB_RATE_STORE=redis requires REDIS_URL: set it too.')
  }
  if (e.HUB_RATE_STORE !== undefined) return e.HUB_RATE_STORE
  return isProduction || e.HUB_WORKERS > 1 ? 'database' : 'memory'
}
