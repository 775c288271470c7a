import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { joinDatabase } from '../../../core/db/open.ts'
import { type ManagedProcess, startManagedProcess } from '../../../core/runtime/managed-process.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { fund } from '../../../server/sandbox/wallets.ts'

/** Measured process, for example one that sells `POST /proxy/echo/say` by x402. */
export interface MeasuredServer {
  /** Origin of its URL. */
  readonly url: string
  /** Suspends the process (SIGSTOP), so that it takes no CPU time from the other side's turn. */
  pause(): void
  resume(): void
  end(): Promise<void>
}

const ROOT = join(import.meta.dirname, '../../..')
/** Arguments of `npm start`: the benchmark measures what operators run. */
export const SERVE: readonly string[] = manifest.scripts.start
  .split(' ')
  .slice(2)
  .map((word) => (word.endsWith('.ts') ? join(ROOT, word) : word))
const PEERS = {
  express: new URL('./express.ts', import.meta.url).pathname,
  mppx: new URL('./mppx.ts', import.meta.url).pathname,
}
const READY_MS = 60_000
const POLL_MS = 20
const TEN_ETH = 10n ** 19n

/** Starts the whole hub like `npm start`, with its chain and database. */
export async function startHub(
  dataDir: string,
): Promise<MeasuredServer & { readonly rpcUrl: string; readonly databaseUrl: string }> {
  const env = { HUB_DATA_DIR: dataDir, HUB_PORT: '0' }
  const { kept, found } = await start(SERVE, env, /ready at (\S+)[^]*Chain +(\S+)/)
  const { url: databaseUrl } = await joinDatabase({ dataDir })
  return { ...measuredServer(kept, found[1]!), rpcUrl: found[2]!, databaseUrl }
}

/** Starts the peer on the hub's chain and database, with its own wallets. */
export async function startPeer(
  { rpcUrl, databaseUrl }: Awaited<ReturnType<typeof startHub>>,
  peer: keyof typeof PEERS,
): Promise<MeasuredServer> {
  const gas = generatePrivateKey()
  const payTo = privateKeyToAddress(generatePrivateKey())
  await fund(rpcUrl, privateKeyToAddress(gas), { wei: TEN_ETH })
  const args = [PEERS[peer], rpcUrl, databaseUrl, gas, payTo]
  const { kept, found } = await start(args, {}, /ready at (\S+)/)
  return measuredServer(kept, found[1]!)
}

/** Starts a program and waits until it prints that it is ready. */
export async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<{ readonly kept: ManagedProcess; readonly found: RegExpExecArray }> {
  const { PATH = '' } = process.env
  const kept = startManagedProcess(process.execPath, args, { env: { PATH, ...env } })
  const ended = kept.exited.then(() => true)
  const deadline = elapsedMs() + READY_MS
  while (elapsedMs() < deadline) {
    const found = ready.exec(kept.tail())
    if (found) return { kept, found }
    if (await Promise.race([ended, sleep(POLL_MS).then(() => false)])) break
  }
  await kept.stop()
  throw new Error(`${args[0]} did not start: ${kept.tail()}`)
}

export const measuredServer = (kept: ManagedProcess, url: string): MeasuredServer => ({
  url,
  pause: () => process.kill(kept.pid, 'SIGSTOP'),
  resume: () => process.kill(kept.pid, 'SIGCONT'),
  async end() {
    process.kill(kept.pid, 'SIGCONT')
    await kept.stop()
  },
})
