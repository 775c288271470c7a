import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { freePort } from '../../core/runtime/net.ts'

/** Real Redis server without persistence. */
export interface RedisServer {
  readonly url: string
  /** Kills the server with SIGKILL; idempotent. */
  kill(): Promise<void>
}

/** Path of the program; undefined if it is not installed. */
export const redisProgram = (): string | undefined =>
  ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', '/tmp']
  const child = spawn(redisProgram()!, settings, { stdio: 'ignore' })
  const exit = once(child, 'exit')
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { retryStrategy: () => 20 })
  client.on('error', () => {})
  await client.ping()
  return {
    url,
    async kill() {
      client.disconnect()
      child.kill('SIGKILL')
      await exit
    },
  }
}
