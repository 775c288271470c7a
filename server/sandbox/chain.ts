import { access, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { type ManagedProcess, startManagedProcess } from '../../core/runtime/managed-process.ts'
import { freePort } from '../../core/runtime/net.ts'
import contracts from './contracts/contracts.artifact.json' with { type: 'json' }
import { callRpc } from './rpc.ts'

/** Where Multicall3 lies on every chain; libraries ask it why a payment is invalid. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** The local chain of a sandbox. */
export interface SandboxChain {
  readonly rpcUrl: string
  readonly pid: number
  /** Writes the state to the data directory and ends the chain. */
  stop(): Promise<void>
}

export interface ChainOptions {
  /** The state lies in `<dataDir>/chain.json`; the directory is made when absent. */
  readonly dataDir: string
  /** On 127.0.0.1; 0 picks a free one. */
  readonly port: number
  /** Hears that the chain died, or lost its state. */
  readonly log?: (text: string) => void
}

/** The chain could not be started; the message says why and what to do. */
export class ChainStartError extends Error {
  override readonly name = 'ChainStartError'
}

const FLAGS = [
  ['--host', '127.0.0.1'],
  ['--chain-id', String(USDC_BASE.chainId)],
  // A block per payment, and one every two seconds: a chain that stands still has an old clock.
  ['--block-time', '2', '--mixed-mining'],
  // Its well-known keys hold nothing here; our own are random (wallets.ts).
  ['--accounts', '0'],
  // Else every block leaves some 350 kB in the home directory, 15 GB a day. A few are kept: with
  // none, a question that meets a new block fails, and a good payment with it.
  ['--prune-history', '64'],
  ['--silent'],
].flat()
const READY_MS = 15_000
const POLL_MS = 5
const TRIES = 3

/**
 * Starts a chain that looks like Base with test USDC at the real address, and continues where the
 * last one in this data directory stopped. It ends with this process, however this process ends.
 * @throws ChainStartError when there is no anvil for this platform, or it does not start.
 */
export async function startChain(options: ChainOptions): Promise<SandboxChain> {
  const { log = () => {} } = options
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true })
  const program = anvilProgram()
  const files = await findState(dataDir, log)
  const { kept, rpcUrl } = await launch(program, options.port, files)
  const watch = reportDeath(kept, log)
  return {
    rpcUrl,
    pid: kept.pid,
    async stop() {
      watch.stopping = true
      await kept.stop()
      await keepState(files)
    },
  }
}

/** anvil writes to `next` when it ends: cut short, that never spoils the state of before. */
interface StateFiles {
  readonly state: string
  readonly next: string
  readonly exists: boolean
}

async function findState(dataDir: string, log: (text: string) => void): Promise<StateFiles> {
  const state = join(dataDir, 'chain.json')
  const files = { state, next: join(dataDir, 'chain.next.json') }
  await keepState(files)
  if (!(await exists(state))) return { ...files, exists: false }
  if (await isWhole(state)) return { ...files, exists: true }
  await rename(state, `${state}.broken`)
  log(`The state of the sandbox chain is unreadable; it was moved to ${state}.broken`)
  return { ...files, exists: false }
}

/** Takes over what the last chain wrote, also when the hub was gone by then. */
async function keepState({ state, next }: Omit<StateFiles, 'exists'>): Promise<void> {
  if (await isWhole(next)) await rename(next, state)
  else await rm(next, { force: true })
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const isWhole = (path: string): Promise<boolean> =>
  readFile(path, 'utf8').then(
    (text) => text.trimEnd().endsWith('}') && 'block' in JSON.parse(text),
    () => false,
  )

function anvilProgram(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`
  try {
    const wrapper = createRequire(import.meta.resolve('@foundry-rs/anvil/package.json'))
    return wrapper.resolve(`${name}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`)
  } catch (cause) {
    throw new ChainStartError(
      `The sandbox chain needs the package ${name}, which is not installed. ` +
        'Run "npm install" without --omit=optional, or set RPC_URL to a node of your own.',
      { cause },
    )
  }
}

/** Starts anvil; when somebody takes the free port meanwhile, on another one. */
async function launch(
  program: string,
  wanted: number,
  { state, next, exists }: StateFiles,
): Promise<{ kept: ManagedProcess; rpcUrl: string }> {
  const files = ['--dump-state', next, ...(exists ? ['--load-state', state] : [])]
  for (let tries = 1; ; tries++) {
    const port = wanted === 0 ? await freePort() : wanted
    const rpcUrl = `http://127.0.0.1:${port}`
    if (await answers(rpcUrl)) throw new ChainStartError(`Port ${port} is taken by another chain.`)
    const kept = startManagedProcess(program, [...FLAGS, '--port', String(port), ...files])
    if (await becomesReady(kept, rpcUrl)) return { kept, rpcUrl }
    await kept.stop(0)
    if (wanted !== 0 || tries === TRIES) {
      throw new ChainStartError(
        `The sandbox chain did not start on port ${port}. anvil said:\n${kept.tail()}`,
      )
    }
  }
}

async function becomesReady(kept: ManagedProcess, rpcUrl: string): Promise<boolean> {
  const ended = kept.exited.then(
    () => true,
    () => true,
  )
  const deadline = elapsedMs() + READY_MS
  while (elapsedMs() < deadline) {
    if (await answers(rpcUrl)) {
      await putContracts(rpcUrl)
      return true
    }
    if (await Promise.race([ended, sleep(POLL_MS).then(() => false)])) return false
  }
  return false
}

const answers = (rpcUrl: string): Promise<boolean> =>
  callRpc(rpcUrl, 'eth_chainId', []).then(
    () => true,
    () => false,
  )

async function putContracts(rpcUrl: string): Promise<void> {
  await callRpc(rpcUrl, 'anvil_setCode', [USDC_BASE.address, contracts.DevUSDC.deployed])
  await callRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, contracts.MiniMulticall3.deployed])
}

function reportDeath(kept: ManagedProcess, log: (text: string) => void): { stopping: boolean } {
  const watch = { stopping: false }
  const report = (how: number | Error): void => {
    if (!watch.stopping) log(`The sandbox chain ended unexpectedly (${how}). ${kept.tail()}`)
  }
  kept.exited.then(report, report)
  return watch
}
